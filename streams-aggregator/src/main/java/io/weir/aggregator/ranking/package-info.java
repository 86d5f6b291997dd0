// SPDX-License-Identifier: Apache-2.0
/**
 * The rankings of the clients and endpoints with the greatest usage. Frequent-items sketches of
 * each window are updated with every change of the usage table. This package depends on the table,
 * the record formats and Apache DataSketches, and not on reports.
 */
@NullMarked
package io.weir.aggregator.ranking;

import org.jspecify.annotations.NullMarked;
