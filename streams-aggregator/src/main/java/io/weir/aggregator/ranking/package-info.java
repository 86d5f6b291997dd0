// SPDX-License-Identifier: Apache-2.0
/**
 * The heaviest clients and endpoints of each window, by frequent-items sketches that follow the
 * table of newest figures; depends on the table, the wire format and Apache DataSketches, not on
 * reports.
 */
@NullMarked
package io.weir.aggregator.ranking;

import org.jspecify.annotations.NullMarked;
