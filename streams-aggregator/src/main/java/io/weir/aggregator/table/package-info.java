// SPDX-License-Identifier: Apache-2.0
/**
 * The table of newest figures: a copy of the state topic on the local disk, and how up to date it
 * is. Depends on Kafka's consumer and RocksDB, not on reports.
 */
@NullMarked
package io.weir.aggregator.table;

import org.jspecify.annotations.NullMarked;
