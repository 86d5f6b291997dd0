// SPDX-License-Identifier: Apache-2.0
/**
 * Ranks the heaviest clients and endpoints of each window with frequent-items sketches, which
 * follow the table of newest figures. Depends on the table, the wire format and Apache
 * DataSketches, not on reports.
 */
@NullMarked
package io.weir.aggregator.ranking;

import org.jspecify.annotations.NullMarked;
