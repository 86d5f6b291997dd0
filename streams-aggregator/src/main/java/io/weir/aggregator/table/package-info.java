// SPDX-License-Identifier: Apache-2.0
/**
 * The table of the newest usage figures, which is a copy of the state topic on the local disk. The
 * package determines whether the copy is up to date. This package depends on Kafka's consumer and
 * RocksDB, and not on reports.
 */
@NullMarked
package io.weir.aggregator.table;

import org.jspecify.annotations.NullMarked;
