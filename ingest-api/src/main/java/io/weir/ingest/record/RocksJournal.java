// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

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
 * A journal in RocksDB's write-ahead log. What was appended survives a kill of the process, since
 * the log has been handed to the operating system; it survives a loss of power only with {@code
 * fsync}. A folder belongs to one process at a time.
 */
final class RocksJournal implements Journal {
  /** Lines that Kafka acknowledges soon never leave this buffer for a table file. */
  private static final long WRITE_BUFFER_BYTES = 32L * 1024 * 1024;

  /** One buffer is filled while others are written out: a slow disk stalls nobody at once. */
  private static final int WRITE_BUFFERS = 4;

  /** Bounds what a start has to replay, and what the folder holds beside the unsent lines. */
  private static final long WAL_BYTES = 128L * 1024 * 1024;

  /** Table files kept open; a backlog is read from its beginning on, a few files at a time. */
  private static final int OPEN_FILES = 64;

  private static final Logger LOG = LoggerFactory.getLogger(RocksJournal.class);

  private static final String MACHINE_START = machineStart();

  static {
    RocksDB.loadLibrary();
  }

  private final Options options;
  private final WriteOptions writeOptions;
  private final RocksDB db;
  private final boolean fsync;
  private final boolean isNew;
  private final boolean mayLackItsEnd;
  private volatile JournalIdentity identity;

  /** Whether what was found when it was opened is told; else the next opening is to tell it. */
  private boolean isTaken;

  /** What was acknowledged, by partition; of the sealing thread. */
  private final Map<Integer, Seal> ackedNotTrimmed = new HashMap<>();

  private RocksJournal(
      Options options,
      WriteOptions writeOptions,
      RocksDB db,
      JournalIdentity identity,
      boolean fsync,
      boolean isNew,
      boolean mayLackItsEnd) {
    this.fsync = fsync;
    this.isNew = isNew;
    this.isTaken = !mayLackItsEnd;
    this.mayLackItsEnd = mayLackItsEnd;
    this.options = options;
    this.writeOptions = writeOptions;
    this.db = db;
    this.identity = identity;
  }

  /**
   * Opens the journal in a folder, or makes one.
   *
   * @param fsync true when each append waits for the disk
   * @param fresh identity of a new journal; asked only when there is none
   * @throws CallLogStartException when the folder cannot be used; the message names it and says why
   */
  static RocksJournal open(Path folder, boolean fsync, Supplier<JournalIdentity> fresh) {
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
      boolean mayLackItsEnd = mayLackItsEnd(db);
      try (WriteOptions durably = new WriteOptions().setSync(true);
          WriteBatch batch = new WriteBatch()) {
        if (stored == null) {
          batch.put(JournalKeys.IDENTITY, JournalKeys.identity(identity));
        }
        if (!mayLackItsEnd) { // else it is said by the next opening, when this one ends at once
          batch.put(JournalKeys.MACHINE, JournalKeys.machine(fsync, MACHINE_START));
          batch.delete(JournalKeys.CLOSED);
        }
        db.write(durably, batch);
      }
      return new RocksJournal(
          options, writeOptions, db, identity, fsync, stored == null, mayLackItsEnd);
    } catch (IOException | RocksDBException | JournalException | RuntimeException failure) {
      if (db != null) {
        db.close();
      }
      writeOptions.close();
      options.close();
      throw startException(folder, failure);
    }
  }

  private static boolean mayLackItsEnd(RocksDB db) throws RocksDBException {
    byte[] machine = db.get(JournalKeys.MACHINE);
    return machine != null
        && db.get(JournalKeys.CLOSED) == null
        && !JournalKeys.waitedForTheDisk(machine)
        && !JournalKeys.machineStart(machine).equals(MACHINE_START);
  }

  /** Names this start of this machine where the system can tell; else empty. */
  private static String machineStart() {
    Path told = Path.of("/proc/sys/kernel/random/boot_id");
    try {
      return Files.isReadable(told) ? Files.readString(told).strip() : "";
    } catch (IOException untold) {
      return "";
    }
  }

  private static CallLogStartException startException(Path folder, Exception failure) {
    if (failure instanceof CallLogStartException said) {
      return said;
    }
    String detail = String.valueOf(failure.getMessage());
    // RocksDB has no code for it: "While lock file: …/LOCK: …" or "lock hold by current process"
    boolean locked = detail.toLowerCase(Locale.ROOT).contains("lock");
    return new CallLogStartException(
        locked
            ? "the journal folder "
                + folder
                + " is in use by another process; each ingest node needs a folder of its own ("
                + detail
                + ")"
            : "the journal in the folder " + folder + " cannot be opened: " + detail,
        failure);
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
  public boolean mayLackItsEnd() {
    return mayLackItsEnd;
  }

  @Override
  public void begin(JournalIdentity next, List<Seal> seals) throws JournalException {
    try (WriteOptions durably = new WriteOptions().setSync(true);
        WriteBatch batch = new WriteBatch()) {
      for (int partition = 0; partition < next.partitions(); partition++) {
        batch.put(
            JournalKeys.epochBegin(partition), JournalKeys.number(found(partition).sealedLines()));
      }
      for (Seal seal : seals) {
        batch.put(JournalKeys.seal(seal.partition(), seal.batchSequence()), JournalKeys.seal(seal));
        batch.put(
            JournalKeys.epochBegin(seal.partition()), JournalKeys.number(seal.linesThrough()));
      }
      batch.put(JournalKeys.IDENTITY, JournalKeys.identity(next));
      batch.put(JournalKeys.MACHINE, JournalKeys.machine(fsync, MACHINE_START));
      batch.delete(JournalKeys.CLOSED);
      db.write(durably, batch);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
    identity = next;
    isTaken = true;
  }

  @Override
  public Found found(int partition) throws JournalException {
    try {
      byte[] begin = db.get(JournalKeys.epochBegin(partition));
      long ackedBatches = 0;
      long ackedLines = 0;
      long promise = 0;
      byte[] acked = db.get(JournalKeys.acked(partition));
      if (acked != null) {
        ByteBuffer in = ByteBuffer.wrap(acked);
        ackedBatches = in.getLong();
        ackedLines = in.getLong();
        promise = in.getLong();
      }
      List<Seal> seals = new ArrayList<>();
      scan(
          JournalKeys.seal(partition, ackedBatches + 1),
          JournalKeys.seal(partition, Long.MAX_VALUE),
          (key, value) -> seals.add(JournalKeys.seal(key, value, identity.epoch())));
      long sealedLines = seals.isEmpty() ? ackedLines : seals.get(seals.size() - 1).linesThrough();
      List<Chunk> unsealed = new ArrayList<>();
      scan(
          JournalKeys.line(partition, sealedLines + 1),
          JournalKeys.line(partition, Long.MAX_VALUE),
          (key, value) -> unsealed.add(chunk(partition, key, value)));
      return new Found(
          ackedBatches,
          ackedLines,
          promise,
          begin == null ? 0 : ByteBuffer.wrap(begin).getLong(),
          seals,
          unsealed);
    } catch (RocksDBException failure) {
      throw new JournalException("the journal cannot be read: " + failure.getMessage(), failure);
    }
  }

  private static Chunk chunk(int partition, byte[] key, byte[] value) {
    byte[] lines = new byte[value.length - JournalKeys.CHUNK_HEAD_BYTES];
    System.arraycopy(value, JournalKeys.CHUNK_HEAD_BYTES, lines, 0, lines.length);
    return new Chunk(partition, JournalKeys.lineOf(key), JournalKeys.countOf(value), lines);
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
  public void seal(List<Seal> seals) throws JournalException {
    try (WriteBatch batch = new WriteBatch()) {
      for (Seal seal : seals) {
        batch.put(JournalKeys.seal(seal.partition(), seal.batchSequence()), JournalKeys.seal(seal));
      }
      db.write(writeOptions, batch);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
  }

  @Override
  public byte[] read(Seal seal) throws JournalException {
    BatchBytes batch = new BatchBytes(seal);
    try {
      scan(
          JournalKeys.line(seal.partition(), seal.linesBefore() + 1),
          JournalKeys.line(seal.partition(), seal.linesThrough() + 1),
          (key, value) ->
              batch.add(
                  JournalKeys.lineOf(key),
                  JournalKeys.countOf(value),
                  value,
                  JournalKeys.CHUNK_HEAD_BYTES));
    } catch (RocksDBException failure) {
      throw new JournalException("the journal cannot be read: " + failure.getMessage(), failure);
    }
    return batch.whole();
  }

  /** Takes one entry of a scan. */
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
  public void acknowledge(List<Seal> seals) throws JournalException {
    try (WriteBatch batch = new WriteBatch()) {
      for (Seal seal : seals) {
        batch.put(JournalKeys.acked(seal.partition()), JournalKeys.acked(seal));
      }
      db.write(writeOptions, batch);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
    for (Seal seal : seals) {
      ackedNotTrimmed.put(seal.partition(), seal);
    }
  }

  @Override
  public void trim() throws JournalException {
    if (ackedNotTrimmed.isEmpty()) {
      return;
    }
    List<byte[]> ranges = new ArrayList<>();
    try (WriteBatch batch = new WriteBatch()) {
      for (Seal seal : ackedNotTrimmed.values()) {
        byte[] firstLine = JournalKeys.line(seal.partition(), 0);
        byte[] endLine = JournalKeys.line(seal.partition(), seal.linesThrough() + 1);
        batch.deleteRange(firstLine, endLine);
        batch.deleteRange(
            JournalKeys.seal(seal.partition(), 0),
            JournalKeys.seal(seal.partition(), seal.batchSequence() + 1));
        ranges.add(firstLine);
        ranges.add(endLine);
      }
      db.write(writeOptions, batch);
      // gives whole files back at once, without waiting for a compaction
      db.deleteFilesInRanges(db.getDefaultColumnFamily(), ranges, false);
    } catch (RocksDBException failure) {
      throw unwritable(failure);
    }
    ackedNotTrimmed.clear();
  }

  private static JournalException unwritable(RocksDBException failure) {
    return new JournalException("the journal cannot be written: " + failure.getMessage(), failure);
  }

  @Override
  public void close() {
    try (WriteOptions durably = new WriteOptions().setSync(true)) {
      if (isTaken) {
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
