// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.IndexType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;

/**
 * The memory limit of all RocksDB stores of the process. Blocks, indexes, filters and write buffers
 * of all stores share one cache. Without the limit, each store could use almost 100 MB.
 */
public final class BoundedRocksMemory implements RocksDBConfigSetter {
  /** Maximum memory of all stores together, in bytes. */
  public static final long MAX_BYTES = 96L * 1024 * 1024;

  /**
   * Maximum part of {@link #MAX_BYTES} for write buffers, in bytes. If the write buffers exceed
   * this size, RocksDB flushes a write buffer.
   */
  private static final long MAX_WRITE_BUFFER_BYTES = 32L * 1024 * 1024;

  private static final long WRITE_BUFFER_BYTES = 4L * 1024 * 1024;
  private static final int WRITE_BUFFERS = 2;

  /**
   * Fraction of the cache that is reserved for indexes and filters, because every look-up needs
   * them.
   */
  private static final double INDEX_SHARE = 0.2;

  private static final int BITS_PER_KEY = 10; // about 1 % of look-ups of absent keys read a file

  private static final LRUCache CACHE;
  private static final WriteBufferManager WRITE_BUFFERS_OF_ALL;
  private static final BloomFilter KEYS;

  static {
    RocksDB.loadLibrary();
    KEYS = new BloomFilter(BITS_PER_KEY);
    CACHE = new LRUCache(MAX_BYTES, -1, false, INDEX_SHARE);
    WRITE_BUFFERS_OF_ALL = new WriteBufferManager(MAX_WRITE_BUFFER_BYTES, CACHE);
  }

  /** Returns the memory in use, in bytes. */
  public static long usedBytes() {
    return CACHE.getUsage();
  }

  @Override
  public void setConfig(String storeName, Options options, Map<String, Object> configs) {
    share(options, (BlockBasedTableConfig) options.tableFormatConfig());
  }

  /**
   * Configures the options of a store that Kafka Streams does not manage. The store then shares the
   * memory limit.
   */
  public static void share(Options options) {
    BlockBasedTableConfig table = new BlockBasedTableConfig();
    table.setFilterPolicy(KEYS);
    // The index of a large file, as one block, would not fit into a shard of the cache. Each look-
    // up would then read the index again, which takes half a millisecond.
    table.setIndexType(IndexType.kTwoLevelIndexSearch);
    table.setPartitionFilters(true);
    share(options, table);
  }

  private static void share(Options options, BlockBasedTableConfig table) {
    table.setBlockCache(CACHE);
    table.setCacheIndexAndFilterBlocks(true);
    table.setCacheIndexAndFilterBlocksWithHighPriority(true);
    table.setPinTopLevelIndexAndFilter(true);
    options.setWriteBufferManager(WRITE_BUFFERS_OF_ALL);
    options.setWriteBufferSize(WRITE_BUFFER_BYTES);
    options.setMaxWriteBufferNumber(WRITE_BUFFERS);
    options.setTableFormatConfig(table);
  }

  @Override
  public void close(String storeName, Options options) {
    // all stores share the cache and the write buffers, which are never closed
  }
}
