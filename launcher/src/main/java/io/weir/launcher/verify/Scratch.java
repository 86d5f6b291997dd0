// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.IndexType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

/**
 * What one verification remembers, on disk, so that its memory does not grow with calls, callers'
 * ids, keys or windows. Entries sort by their bytes; the first byte says of what kind they are. The
 * folder is removed at the end, also when the process is asked to end. Not safe for threads.
 */
final class Scratch implements AutoCloseable {
  /** First byte of the keys of accounts; the bytes of a {@link Slot} follow. */
  static final byte ACCOUNT = 'a';

  /** Of the checksums of ledger rows. */
  static final byte ROW = 'r';

  /** Of the quarantine's records that are not explained yet. */
  static final byte QUARANTINED = 'q';

  /** Of the checksums of lines, by journal and position. */
  static final byte LINES = 'l';

  /** Of what became of a line at last that was refused, by its position. */
  static final byte FATE = 'x';

  /** Of callers' ids. */
  static final byte ID = 'i';

  /** Of the checksums of lines that were refused, by their place. */
  static final byte REFUSED = 'f';

  /** Of lines that a replay has brought, by the place where they were refused. */
  static final byte REPLAYED = 'p';

  /** Of settlements that were replayed: where they stand now. */
  static final byte MOVED = 'm';

  /** Of what the quarantine says was counted by a replay. */
  static final byte REPLAY_WORD = 'w';

  /** Of settlements. */
  static final byte SETTLEMENT = 's';

  private static final long WRITE_BUFFER_BYTES = 16L * 1024 * 1024;
  private static final long CACHE_BYTES = 48L * 1024 * 1024;
  private static final int BLOOM_BITS = 10;
  private static final int OPEN_FILES = 128;

  static {
    RocksDB.loadLibrary();
  }

  private final Path folder;

  /** In one piece: a part of it that is smaller than a block keeps that block never. */
  private final LRUCache cache = new LRUCache(CACHE_BYTES, 0);

  private final BloomFilter bloom = new BloomFilter(BLOOM_BITS);
  private final Options options;
  private final WriteOptions writing = new WriteOptions().setDisableWAL(true);
  private final RocksDB db;
  private final Thread removal;

  private Scratch(Path folder) throws RocksDBException {
    this.folder = folder;
    this.options =
        new Options()
            .setCreateIfMissing(true)
            .setWriteBufferSize(WRITE_BUFFER_BYTES)
            .setMaxOpenFiles(OPEN_FILES)
            .setCompressionType(CompressionType.LZ4_COMPRESSION)
            .setTableFormatConfig(
                new BlockBasedTableConfig()
                    .setBlockCache(cache)
                    .setFilterPolicy(bloom)
                    .setPartitionFilters(true)
                    .setIndexType(IndexType.kTwoLevelIndexSearch)
                    .setPinTopLevelIndexAndFilter(true)
                    .setCacheIndexAndFilterBlocks(true));
    this.db = RocksDB.open(options, folder.resolve("db").toString());
    this.removal = new Thread(() -> removeOrLeave(folder), "weir-verify-removal");
    Runtime.getRuntime().addShutdownHook(removal);
  }

  /**
   * Makes a folder of its own.
   *
   * @param parent holds the folder
   */
  static Scratch create(Path parent) throws IOException {
    Path folder = Files.createTempDirectory(parent, "weir-verify-");
    try {
      return new Scratch(folder);
    } catch (RocksDBException failed) {
      throw new IOException(folder + ": " + failed.getMessage(), failed);
    }
  }

  /** A key of a kind. */
  static ByteBuffer key(byte kind, int room) {
    return ByteBuffer.allocate(1 + room).put(kind);
  }

  /** A file beside the entries, for what is only written and read in order. */
  Path file(String name) {
    return folder.resolve(name);
  }

  byte @Nullable [] get(byte[] key) {
    try {
      return db.get(key);
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  void put(byte[] key, byte[] value) {
    try {
      db.put(writing, key, value);
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  void delete(byte[] key) {
    try {
      db.delete(writing, key);
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  /** What is done with each entry; false ends the scan. */
  interface Visitor {
    boolean visit(byte[] key, byte[] value);
  }

  /** Visits the entries in [from, until), in the order of their keys. */
  void scan(byte[] from, byte[] until, Visitor visitor) {
    try (RocksIterator entries = db.newIterator()) {
      entries.seek(from);
      while (entries.isValid()
          && Arrays.compareUnsigned(entries.key(), until) < 0
          && visitor.visit(entries.key(), entries.value())) {
        entries.next();
      }
      entries.status();
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  private UncheckedIOException failure(RocksDBException failed) {
    return new UncheckedIOException(new IOException(folder + ": " + failed.getMessage(), failed));
  }

  @Override
  public void close() throws IOException {
    db.close();
    options.close();
    writing.close();
    bloom.close();
    cache.close();
    remove(folder);
    Runtime.getRuntime().removeShutdownHook(removal);
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }

  /** Of a process that was asked to end meanwhile. */
  private static void removeOrLeave(Path folder) {
    try {
      remove(folder);
    } catch (IOException | UncheckedIOException failed) {
      System.err.println("weir: " + folder + " could not be removed: " + failed.getMessage());
    }
  }
}
