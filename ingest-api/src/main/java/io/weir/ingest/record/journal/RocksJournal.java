// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.rocksdb.CompressionType;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.WALRecoveryMode;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A journal that stores lines in RocksDB. Appended lines survive a kill of the process, because
 * RocksDB has passed its write-ahead log to the operating system. The lines survive a power loss
 * only with {@code fsync}. Only one process at a time may use a folder.
 */
final class RocksJournal implements Journal {
  /**
   * Size of a write buffer in bytes. RocksDB flushes a full buffer to a table file. With this size,
   * lines that Kafka acknowledges soon are deleted before the flush.
   */
  private static final long WRITE_BUFFER_BYTES = 32L * 1024 * 1024;

  /**
   * Number of write buffers. One buffer is filled while others are flushed, so that a slow disk
   * does not stall writers immediately.
   */
  private static final int WRITE_BUFFERS = 4;

  /**
   * Maximum size of the write-ahead log. The size bounds the data that a start replays, and the
   * disk space in addition to unsent lines.
   */
  private static final long WAL_BYTES = 128L * 1024 * 1024;

  /**
   * Maximum number of open table files. A backlog is read in order, so a few files at a time are
   * enough.
   */
  private static final int OPEN_FILES = 64;

  private static final Logger LOG = LoggerFactory.getLogger(RocksJournal.class);

  private static final String BOOT_ID = bootId();

  static {
    RocksDB.loadLibrary();
  }

  private final Options options;
  private final WriteOptions writeOptions;
  private final RocksDB db;
  private final boolean fsync;
  private final boolean isNew;
  private final boolean mayLackTail;
  private volatile JournalIdentity identity;

  /**
   * Whether a new epoch has begun since the last possible loss of lines. Without a new epoch, the
   * next opening must report {@link #mayLackTail} again.
   */
  private boolean isTailHandled;

  /** The last acknowledged batch of each partition since the last trim. Confined to one thread. */
  private final Map<Integer, BatchManifest> ackedNotTrimmed = new HashMap<>();

  private RocksJournal(
      Options options,
      WriteOptions writeOptions,
      RocksDB db,
      JournalIdentity identity,
      boolean fsync,
      boolean isNew,
      boolean mayLackTail) {
    this.fsync = fsync;
    this.isNew = isNew;
    this.isTailHandled = !mayLackTail;
    this.mayLackTail = mayLackTail;
    this.options = options;
    this.writeOptions = writeOptions;
    this.db = db;
    this.identity = identity;
  }

  /** Implements {@link Journal#open}. */
  static RocksJournal open(Path folder, boolean fsync, Supplier<JournalIdentity> fresh)
      throws JournalException {
    Options options =
        new Options()
            .setCreateIfMissing(true)
            .setWalRecoveryMode(WALRecoveryMode.PointInTimeRecovery)
            .setWriteBufferSize(WRITE_BUFFER_BYTES)
            .setMaxWriteBufferNumber(WRITE_BUFFERS)
            .setMaxTotalWalSize(WAL_BYTES)
            .setMaxOpenFiles(OPEN_FILES)
            .setCompressionType(CompressionType.LZ4_COMPRESSION)
            .setInfoLogLevel(InfoLogLevel.WARN_LEVEL)
            .setKeepLogFileNum(2);
    WriteOptions writeOptions = new WriteOptions().setSync(fsync);
    RocksDB db = null;
    try {
      Files.createDirectories(folder);
      db = RocksDB.open(options, folder.toString());
      byte[] stored = db.get(JournalKeys.IDENTITY);
      JournalIdentity identity = stored == null ? fresh.get() : JournalKeys.identity(stored);
      boolean mayLackTail = mayLackTail(db);
      try (WriteOptions durably = new WriteOptions().setSync(true);
          WriteBatch batch = new WriteBatch()) {
        if (stored == null) {
          batch.put(JournalKeys.IDENTITY, JournalKeys.identity(identity));
        }
        // If the tail may be missing, keep the entries: if this start fails, the next opening must
        // report the tail again.
        if (!mayLackTail) {
          batch.put(JournalKeys.MACHINE, JournalKeys.machine(fsync, BOOT_ID));
          batch.delete(JournalKeys.CLOSED);
        }
        db.write(durably, batch);
      }
      return new RocksJournal(
          options, writeOptions, db, identity, fsync, stored == null, mayLackTail);
    } catch (IOException | RocksDBException | JournalException | RuntimeException failure) {
      if (db != null) {
        db.close();
      }
      writeOptions.close();
      options.close();
      throw new JournalException(openFailure(folder, failure), failure);
    }
  }

  private static boolean mayLackTail(RocksDB db) throws RocksDBException {
    byte[] machine = db.get(JournalKeys.MACHINE);
    return machine != null
        && db.get(JournalKeys.CLOSED) == null
        && !JournalKeys.isFsync(machine)
        && !JournalKeys.bootId(machine).equals(BOOT_ID);
  }

  /**
   * Returns the boot id of this machine, which changes with each restart; empty if it is unknown.
   */
  private static String bootId() {
    Path source = Path.of("/proc/sys/kernel/random/boot_id");
    try {
      return Files.isReadable(source) ? Files.readString(source).strip() : "";
    } catch (IOException unreadable) {
      return "";
    }
  }

  private static String openFailure(Path folder, Exception failure) {
    String detail = String.valueOf(failure.getMessage());
    // RocksDB has no error code for a locked folder. Its message is "While lock file: …/LOCK: …"
    // or "lock hold by current process".
    boolean locked = detail.toLowerCase(Locale.ROOT).contains("lock");
    return locked
        ? "the journal folder "
            + folder
            + " is in use by another process; each ingest node needs a separate folder ("
            + detail
            + ")"
        : "the journal in the folder " + folder + " cannot be opened: " + detail;
  }

  @Override
  public JournalIdentity identity() {
    return identity;
  }

  @Override
  public boolean isNew() {
    return isNew;
  }

  @Override
  public boolean mayLackTail() {
    return mayLackTail;
  }

  @Override
  public void beginEpoch(JournalIdentity next, List<BatchManifest> manifests)
      throws JournalException {
    try (WriteOptions durably = new WriteOptions().setSync(true);
        WriteBatch batch = new WriteBatch()) {
      for (int partition = 0; partition < next.partitions(); partition++) {
        batch.put(
            JournalKeys.epochBegin(partition),
            JournalKeys.number(recover(partition).sealedLines()));
      }
      for (BatchManifest manifest : manifests) {
        put(batch, manifest);
        batch.put(
            JournalKeys.epochBegin(manifest.partition()),
            JournalKeys.number(manifest.linesThrough()));
      }
      batch.put(JournalKeys.IDENTITY, JournalKeys.identity(next));
      batch.put(JournalKeys.MACHINE, JournalKeys.machine(fsync, BOOT_ID));
      batch.delete(JournalKeys.CLOSED);
      db.write(durably, batch);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
    identity = next;
    isTailHandled = true;
  }

  @Override
  public Recovered recover(int partition) throws JournalException {
    try {
      byte[] begin = db.get(JournalKeys.epochBegin(partition));
      long ackedBatches = 0;
      long ackedLines = 0;
      long lowWatermarkEpochMillis = 0;
      byte[] acked = db.get(JournalKeys.acked(partition));
      if (acked != null) {
        ByteBuffer in = ByteBuffer.wrap(acked);
        ackedBatches = in.getLong();
        ackedLines = in.getLong();
        lowWatermarkEpochMillis = in.getLong();
      }
      List<BatchManifest> sealed = new ArrayList<>();
      scan(
          JournalKeys.manifest(partition, ackedBatches + 1),
          JournalKeys.manifest(partition, Long.MAX_VALUE),
          (key, value) -> sealed.add(JournalKeys.manifest(key, value, identity.epoch())));
      long sealedLines =
          sealed.isEmpty() ? ackedLines : sealed.get(sealed.size() - 1).linesThrough();
      return new Recovered(
          ackedBatches,
          ackedLines,
          lowWatermarkEpochMillis,
          begin == null ? 0 : ByteBuffer.wrap(begin).getLong(),
          sealed,
          chunks(partition, sealedLines + 1, Long.MAX_VALUE));
    } catch (RocksDBException failure) {
      throw unreadable(failure);
    }
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    try {
      if (chunks.size() == 1) {
        Chunk chunk = chunks.get(0);
        db.put(
            writeOptions,
            JournalKeys.line(chunk.partition(), chunk.firstLine()),
            JournalKeys.chunk(chunk));
        return;
      }
      try (WriteBatch batch = new WriteBatch()) {
        for (Chunk chunk : chunks) {
          batch.put(
              JournalKeys.line(chunk.partition(), chunk.firstLine()), JournalKeys.chunk(chunk));
        }
        db.write(writeOptions, batch);
      }
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
  }

  @Override
  public void seal(List<BatchManifest> manifests) throws JournalException {
    try (WriteBatch batch = new WriteBatch()) {
      for (BatchManifest manifest : manifests) {
        put(batch, manifest);
      }
      db.write(writeOptions, batch);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
  }

  private static void put(WriteBatch batch, BatchManifest manifest) throws RocksDBException {
    batch.put(
        JournalKeys.manifest(manifest.partition(), manifest.batchSequence()),
        JournalKeys.manifest(manifest));
  }

  @Override
  public byte[] read(BatchManifest manifest) throws JournalException {
    try {
      return manifest.join(
          chunks(manifest.partition(), manifest.linesBefore() + 1, manifest.linesThrough() + 1));
    } catch (RocksDBException failure) {
      throw unreadable(failure);
    }
  }

  /** Reads the chunks whose first line is in {@code [fromLine, toLine)}, in order. */
  private List<Chunk> chunks(int partition, long fromLine, long toLine)
      throws RocksDBException, JournalException {
    List<Chunk> chunks = new ArrayList<>();
    scan(
        JournalKeys.line(partition, fromLine),
        JournalKeys.line(partition, toLine),
        (key, value) -> chunks.add(JournalKeys.chunk(key, value)));
    return chunks;
  }

  /** Receives one entry of a scan. */
  private interface Entry {
    void take(byte[] key, byte[] value) throws JournalException;
  }

  /** Reads the entries whose key is in {@code [from, to)}, in order. */
  private void scan(byte[] from, byte[] to, Entry entry) throws RocksDBException, JournalException {
    try (Slice end = new Slice(to);
        ReadOptions read = new ReadOptions().setIterateUpperBound(end).setFillCache(false);
        RocksIterator iterator = db.newIterator(read)) {
      for (iterator.seek(from); iterator.isValid(); iterator.next()) {
        entry.take(iterator.key(), iterator.value());
      }
      iterator.status();
    }
  }

  @Override
  public void acknowledge(List<BatchManifest> manifests) throws JournalException {
    try (WriteBatch batch = new WriteBatch()) {
      for (BatchManifest manifest : manifests) {
        batch.put(JournalKeys.acked(manifest.partition()), JournalKeys.acked(manifest));
      }
      db.write(writeOptions, batch);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
    for (BatchManifest manifest : manifests) {
      ackedNotTrimmed.put(manifest.partition(), manifest);
    }
  }

  @Override
  public void trim() throws JournalException {
    if (ackedNotTrimmed.isEmpty()) {
      return;
    }
    List<byte[]> ranges = new ArrayList<>();
    try (WriteBatch batch = new WriteBatch()) {
      for (BatchManifest acked : ackedNotTrimmed.values()) {
        byte[] firstLine = JournalKeys.line(acked.partition(), 0);
        byte[] endLine = JournalKeys.line(acked.partition(), acked.linesThrough() + 1);
        batch.deleteRange(firstLine, endLine);
        batch.deleteRange(
            JournalKeys.manifest(acked.partition(), 0),
            JournalKeys.manifest(acked.partition(), acked.batchSequence() + 1));
        ranges.add(firstLine);
        ranges.add(endLine);
      }
      db.write(writeOptions, batch);
      // free whole files immediately, before a compaction
      db.deleteFilesInRanges(db.getDefaultColumnFamily(), ranges, false);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
    ackedNotTrimmed.clear();
  }

  private static JournalException unwritable(RocksDBException failure) {
    return new JournalException("the journal cannot be written: " + failure.getMessage(), failure);
  }

  private static JournalException unreadable(RocksDBException failure) {
    return new JournalException("the journal cannot be read: " + failure.getMessage(), failure);
  }

  @Override
  public void close() {
    try (WriteOptions durably = new WriteOptions().setSync(true)) {
      if (isTailHandled) {
        db.put(durably, JournalKeys.CLOSED, new byte[0]);
      }
    } catch (RocksDBException failure) {
      LOG.warn("journal_not_closed_in_order detail=\"{}\"", failure.getMessage());
    }
    db.close();
    writeOptions.close();
    options.close();
  }
}
