// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallLine;
import io.weir.cli.records.CallLineReader;
import io.weir.cli.records.Hash;
import io.weir.cli.records.Rates;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.ScratchFolder;
import io.weir.cli.records.UnreadableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decides recorded calls again, in two steps. First several threads read the batches in any order,
 * judge the calls by the policies of the recorded versions, and write the stamps to disk as sorted
 * rows. Then the rows of each bucket are judged in order. Memory does not grow with the number of
 * calls or buckets. Call {@link #add} and {@link #finish} from one thread.
 */
final class CallReplay implements AutoCloseable {
  private static final int MAX_WAITING = 256;
  private static final int MAX_WAITING_KILOBYTES = 32 * 1024;
  private static final int BYTES_PER_KILOBYTE = 1024;

  /**
   * Maximum number of stamps, and of repeated denials, in the buffers of all threads: at most 84 MB
   * and 42 MB.
   */
  private static final int MAX_BUFFERED_ROWS = 1 << 20;

  /** Memory for merging the stamps of all threads, and the same for repeated denials. */
  private static final int MERGE_BYTES = 48 << 20;

  private final Settings settings;
  private final ScratchFolder folder;
  private final Hash hash = new Hash(ThreadLocalRandom.current().nextLong());
  private final Rates rates = new Rates();
  private final BlockingQueue<Batch> waiting = new ArrayBlockingQueue<>(MAX_WAITING);
  private final Semaphore waitingKilobytes = new Semaphore(MAX_WAITING_KILOBYTES);
  private final List<Worker> workers = new ArrayList<>();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final AtomicLong rowCount = new AtomicLong();
  private final @Nullable Long client;
  private boolean isEnded;

  /**
   * The parameters of a replay.
   *
   * @param from start of the range, by Redis' clock
   * @param to exclusive end of the range
   * @param client judges only this client; null for all clients
   * @param scratch folder in which to create the folder of the sorted rows
   * @param threads number of threads that read and judge, at least 1
   */
  record Settings(Instant from, Instant to, @Nullable String client, Path scratch, int threads) {}

  /** A batch that waits for a thread. A batch without a value ends a thread. */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never modified
  private record Batch(int partition, long offset, byte @Nullable [] value) {
    int kilobytes() {
      return value == null
          ? 0
          : Math.min(MAX_WAITING_KILOBYTES, value.length / BYTES_PER_KILOBYTE + 1);
    }
  }

  /**
   * Creates an empty replay and starts its threads.
   *
   * @throws IOException if the folder cannot be used
   */
  CallReplay(Settings settings, PolicyVersions versions) throws IOException {
    this.settings = settings;
    this.client = settings.client == null ? null : hash.of(settings.client);
    this.folder = ScratchFolder.create(settings.scratch, "replay");
    try {
      for (int i = 0; i < settings.threads; i++) {
        workers.add(new Worker(i, versions));
      }
    } catch (IOException | RuntimeException | Error failed) {
      folder.close();
      throw failed;
    }
    workers.forEach(Thread::start);
  }

  /**
   * Adds a batch of lines. Blocks while too many batches wait.
   *
   * @param value its lines; must not change afterwards
   * @throws UncheckedIOException if the disk could not hold an earlier batch
   */
  void add(int partition, long offset, byte[] value) {
    if (failure.get() instanceof IOException ofDisk) {
      throw new UncheckedIOException(ofDisk.getMessage(), ofDisk); // the rest need not be read
    }
    Batch batch = new Batch(partition, offset, value);
    waitingKilobytes.acquireUninterruptibly(batch.kilobytes());
    put(batch);
  }

  private void put(Batch batch) {
    try {
      waiting.put(batch);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", interrupted);
    }
  }

  /**
   * Judges the added batches. No batch may be added afterwards.
   *
   * @param progress receives the number of judged rows; several threads call it
   */
  ReplayTally finish(ReadProgress progress) throws IOException {
    end();
    rethrow();
    ReplayTally all = new ReplayTally();
    for (Worker worker : workers) {
      all.add(worker.tally);
      worker.finish();
    }
    AtomicLong done = new AtomicLong();
    List<Merger> mergers = new ArrayList<>();
    for (int shard = 0; shard < settings.threads; shard++) {
      mergers.add(new Merger(shard, progress, done));
    }
    mergers.forEach(Thread::start);
    for (Merger merger : mergers) {
      join(merger);
      all.add(merger.tally);
    }
    rethrow();
    return all;
  }

  /**
   * Returns a finding with the names from its record.
   *
   * @param batch the record's value; null if it can no longer be read
   */
  ReplayReport.Difference named(Finding finding, byte @Nullable [] batch) throws IOException {
    String[] names = {"", ""};
    readCalls(
        new CallLineReader(hash, rates),
        batch == null ? new byte[0] : batch,
        (call, number) -> {
          if (number == Row.line(finding.place())) {
            names[0] = call.client.toString();
            for (int i = 0; i < call.charges(); i++) {
              if (call.charge(i).key.hash() == finding.bucket()) {
                names[1] = call.charge(i).key.toString();
              }
            }
          }
        });
    return new ReplayReport.Difference(finding, names[0], names[1]);
  }

  /** Receives each call of a batch. */
  private interface CallVisitor {
    /**
     * Visits a call.
     *
     * @param call valid until the next line is visited
     * @param number the line's number in the batch, from 1
     */
    void visit(CallLine call, int number) throws IOException;
  }

  /**
   * Reads the calls of a batch.
   *
   * @return the number of unreadable lines
   */
  private static int readCalls(CallLineReader lines, byte[] batch, CallVisitor visitor)
      throws IOException {
    int unreadable = 0;
    int number = 1;
    for (int start = 0; start < batch.length; number++) {
      int end = CallLineReader.endOfLine(batch, start);
      try {
        CallLine line = lines.read(batch, start, end);
        if (!line.isSettlement()) {
          visitor.visit(line, number);
        }
      } catch (UnreadableException unread) {
        unreadable++;
      }
      start = end + 1;
    }
    return unreadable;
  }

  /** Ends the threads after they have read the waiting batches, and waits for them. */
  private void end() {
    if (!isEnded) {
      isEnded = true;
      workers.forEach(worker -> put(new Batch(0, 0, null))); // each thread ends with one of these
    }
    workers.forEach(CallReplay::join);
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", interrupted);
    }
  }

  private void rethrow() throws IOException {
    Throwable failed = failure.get();
    if (failed instanceof IOException ofDisk) {
      throw new IOException(ofDisk.getMessage(), ofDisk);
    }
    if (failed != null) {
      throw new IllegalStateException("a thread of the replay failed", failed);
    }
  }

  /** Returns the shard of a bucket. Rows are sorted by the other bits of the hash. */
  private int shard(long bucket) {
    return (int) ((bucket & 0xffff) % settings.threads);
  }

  /** A thread that reads batches. */
  private final class Worker extends Thread implements CallJudge.RowSink {
    private final ReplayTally tally = new ReplayTally();
    private final CallLineReader lines = new CallLineReader(hash, rates);
    private final List<SortedRows> stamps = new ArrayList<>();
    private final List<SortedRows> denials = new ArrayList<>();
    private final CallJudge judge;
    private final long fromMillis = settings.from.toEpochMilli();
    private final long toMillis = settings.to.toEpochMilli();
    private long rows;

    Worker(int number, PolicyVersions versions) throws IOException {
      super("weir-replay-" + number);
      setDaemon(true);
      this.judge = new CallJudge(new Expectations(versions, hash, rates), this, tally);
      // each thread has a buffer for each shard
      int bufferRows =
          Math.max(
              1,
              Math.min(
                  SortedRows.MAX_BUFFER_ROWS,
                  MAX_BUFFERED_ROWS / (settings.threads * settings.threads)));
      for (int shard = 0; shard < settings.threads; shard++) {
        String name = number + "-" + shard;
        stamps.add(
            new SortedRows(folder.file("stamps-" + name), Row.WIDTH, Row.SORTED, bufferRows));
        denials.add(
            new SortedRows(
                folder.file("denials-" + name), Row.DENIAL_WIDTH, Row.DENIAL_SORTED, bufferRows));
      }
    }

    @Override
    public void run() {
      try {
        while (true) {
          Batch batch = waiting.take();
          byte[] value = batch.value;
          if (value == null) {
            return;
          }
          waitingKilobytes.release(batch.kilobytes());
          // after a failure batches are discarded, so that add() does not block for ever
          if (failure.get() == null) {
            read(batch.partition, batch.offset, value);
          }
        }
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }

    private void read(int partition, long offset, byte[] value) {
      try {
        tally.unreadable +=
            readCalls(
                lines,
                value,
                (call, number) -> {
                  if (call.decidedAtEpochMillis >= fromMillis
                      && call.decidedAtEpochMillis < toMillis
                      && (client == null || client == call.client.hash())) {
                    judge.judge(call, Row.place(partition, offset, number));
                  }
                });
      } catch (IOException | RuntimeException | Error failed) {
        failure.compareAndSet(null, failed);
      }
    }

    @Override
    public void stamp(long[] row) throws IOException {
      stamps.get(shard(row[Row.BUCKET])).add(row);
      rows++;
    }

    @Override
    public void denial(long[] row) throws IOException {
      denials.get(shard(row[Row.BUCKET])).add(row);
    }

    void finish() throws IOException {
      for (SortedRows each : stamps) {
        each.finish();
      }
      for (SortedRows each : denials) {
        each.finish();
      }
      rowCount.addAndGet(rows);
    }

    void closeRows() throws IOException {
      for (SortedRows each : stamps) {
        each.close();
      }
      for (SortedRows each : denials) {
        each.close();
      }
    }
  }

  /** A thread that judges the rows of one shard. */
  private final class Merger extends Thread {
    private final int shard;
    private final ReadProgress progress;
    private final AtomicLong done;
    private final ReplayTally tally = new ReplayTally();

    Merger(int shard, ReadProgress progress, AtomicLong done) {
      super("weir-replay-buckets-" + shard);
      setDaemon(true);
      this.shard = shard;
      this.progress = progress;
      this.done = done;
    }

    @Override
    public void run() {
      try {
        int bytes = MERGE_BYTES / settings.threads;
        RepeatedDenials denials =
            new RepeatedDenials(merged(worker -> worker.denials, bytes), rates, tally);
        new BucketReplay(rates, settings.from.toEpochMilli(), tally, denials)
            .run(
                merged(worker -> worker.stamps, bytes),
                rows -> progress.step("deciding again", done.addAndGet(rows), rowCount.get()));
      } catch (IOException | RuntimeException | Error failed) {
        failure.compareAndSet(null, failed);
      }
    }

    private SortedRows.Merged merged(Function<Worker, List<SortedRows>> rows, int bytes)
        throws IOException {
      return SortedRows.merge(
          workers.stream().map(worker -> rows.apply(worker).get(shard)).toList(), bytes);
    }
  }

  @Override
  public void close() {
    try {
      end();
      for (Worker worker : workers) {
        worker.closeRows();
      }
      folder.close();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }
}
