// SPDX-License-Identifier: Apache-2.0
/**
 * The table of newest figures: a copy of the state topic on the local disk, with the knowledge of
 * how fresh it is; depends on Kafka's consumer and RocksDB, not on reports.
 */
@NullMarked
package io.weir.aggregator.table;

import org.jspecify.annotations.NullMarked;
