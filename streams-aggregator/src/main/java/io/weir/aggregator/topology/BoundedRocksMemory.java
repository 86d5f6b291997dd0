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
 * A memory limit for all RocksDB stores of the process: blocks, indexes, filters and write buffers
 * share one cache. Without it, each store may use almost 100 MB.
 */
public final class BoundedRocksMemory implements RocksDBConfigSetter {
  /** Maximum memory of all stores in bytes, including blocks and write buffers. */
  public static final long MAX_BYTES = 96L * 1024 * 1024;

  /** Part of {@link #MAX_BYTES} that write buffers may use before they are flushed. */
  private static final long MAX_WRITE_BUFFER_BYTES = 32L * 1024 * 1024;

  private static final long WRITE_BUFFER_BYTES = 4L * 1024 * 1024;
  private static final int WRITE_BUFFERS = 2;

  /** Part of the cache reserved for indexes and filters, which every look-up needs. */
  private static final double INDEX_SHARE = 0.2;

  private static final int BITS_PER_KEY =
      10; // about 1 % of look-ups of absent keys read a file in vain

  private static final LRUCache CACHE;
  private static final WriteBufferManager WRITE_BUFFERS_OF_ALL;
  private static final BloomFilter KEYS;

  static {
    RocksDB.loadLibrary();
    KEYS = new BloomFilter(BITS_PER_KEY);
    CACHE = new LRUCache(MAX_BYTES, -1, false, INDEX_SHARE);
    WRITE_BUFFERS_OF_ALL = new WriteBufferManager(MAX_WRITE_BUFFER_BYTES, CACHE);
  }

  /** Returns the number of bytes in use. */
  public static long usedBytes() {
    return CACHE.getUsage();
  }

  @Override
  public void setConfig(String storeName, Options options, Map<String, Object> configs) {
    share(options, (BlockBasedTableConfig) options.tableFormatConfig());
  }

  /** Configures a store that Kafka Streams does not manage to share the memory. */
  public static void share(Options options) {
    BlockBasedTableConfig table = new BlockBasedTableConfig();
    table.setFilterPolicy(KEYS);
    // as one block, the index of a large file would not fit into its shard of the cache; every
    // look-up would read it again, in half a millisecond
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
    // all stores share cache and write buffers, which exist as long as the process
  }
}
