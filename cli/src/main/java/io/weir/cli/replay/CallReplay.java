// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallLine;
import io.weir.cli.records.CallLineReader;
import io.weir.cli.records.Hash;
import io.weir.cli.records.Rates;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.ScratchFolder;
import io.weir.cli.records.UnreadableException;
import io.weir.cli.replay.ReplayReport.Finding;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Decides recorded calls again, in two steps. First several threads read the batches in any order,
 * judge the calls by the policies of the recorded versions, and write the stamps to disk as sorted
 * rows. Then the rows of each bucket are judged in order. Memory does not grow with the number of
 * calls or buckets. Call {@link #add} and {@link #finish} from one thread.
 */
final class CallReplay implements AutoCloseable {
  /** Maximum size of the batches that wait for a thread or are being read. */
  private static final int MAX_WAITING_KILOBYTES = 32 * 1024;

  private static final int BYTES_PER_KILOBYTE = 1024;

  /**
   * Maximum number of stamps, and of repeated denials, in the buffers of all threads: at most 80 MB
   * and 50 MB.
   */
  private static final int MAX_BUFFERED_ROWS = 3 << 18;

  /** Memory for merging the stamps of all threads, and the same for repeated denials. */
  private static final int MERGE_BYTES = 48 << 20;

  private final Settings settings;
  private final ScratchFolder folder;
  private final Hash hash = new Hash(ThreadLocalRandom.current().nextLong());
  private final Rates rates = new Rates();
  private final Semaphore waitingKilobytes = new Semaphore(MAX_WAITING_KILOBYTES);
  private final ExecutorService threads;
  private final List<Worker> workers = new ArrayList<>();

  /** The workers that no thread uses. There are as many workers as threads. */
  private final Queue<Worker> idle = new ConcurrentLinkedQueue<>();

  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final @Nullable Long client;

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
    idle.addAll(workers);
    threads = Executors.newFixedThreadPool(settings.threads, CallReplay::thread);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "weir-replay");
    thread.setDaemon(true);
    return thread;
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
    int kilobytes = Math.min(MAX_WAITING_KILOBYTES, value.length / BYTES_PER_KILOBYTE + 1);
    waitingKilobytes.acquireUninterruptibly(kilobytes);
    threads.execute(
        () -> {
          Worker worker = idle.remove();
          try {
            if (failure.get() == null) {
              worker.read(partition, offset, value);
            }
          } catch (IOException | RuntimeException | Error failed) {
            failure.compareAndSet(null, failed);
          } finally {
            idle.add(worker);
            waitingKilobytes.release(kilobytes);
          }
        });
  }

  /**
   * Judges the added batches. No batch may be added afterwards.
   *
   * @param progress receives the number of judged rows; several threads call it
   */
  ReplayTally finish(ReadProgress progress) throws IOException {
    waitingKilobytes.acquireUninterruptibly(MAX_WAITING_KILOBYTES); // until all batches are read
    rethrow(failure.get());
    ReplayTally all = new ReplayTally();
    long rows = 0;
    for (Worker worker : workers) {
      all.add(worker.tally);
      worker.stamps.writeRuns();
      worker.denials.writeRuns();
      rows += worker.stamps.size();
    }
    AtomicLong done = new AtomicLong();
    long total = rows;
    LongConsumer judged = count -> progress.step("deciding again", done.addAndGet(count), total);
    List<Callable<ReplayTally>> shards = new ArrayList<>();
    for (int i = 0; i < settings.threads; i++) {
      int shard = i;
      shards.add(() -> judge(shard, judged));
    }
    try {
      for (Future<ReplayTally> tally : threads.invokeAll(shards)) {
        all.add(tally.get());
      }
    } catch (ExecutionException failed) {
      rethrow(failed.getCause());
    } catch (InterruptedException interrupted) {
      throw interrupted(interrupted);
    }
    return all;
  }

  private ReplayTally judge(int shard, LongConsumer progress) throws IOException {
    ReplayTally tally = new ReplayTally();
    int bytes = MERGE_BYTES / settings.threads;
    RepeatedDenials denials =
        new RepeatedDenials(merged(worker -> worker.denials, shard, bytes), rates, tally);
    new BucketReplay(rates, settings.from.toEpochMilli(), tally, denials)
        .run(merged(worker -> worker.stamps, shard, bytes), progress);
    return tally;
  }

  private SortedRows.Merged merged(Function<Worker, SortedRows.Shards> rows, int shard, int bytes)
      throws IOException {
    return SortedRows.merge(
        workers.stream().map(worker -> rows.apply(worker).set(shard)).toList(), bytes);
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

  private interface CallVisitor {
    void visit(CallLine call, int number) throws IOException;
  }

  /**
   * Reads the calls of a batch.
   *
   * @return the number of unreadable lines; 1 for an unreadable batch
   */
  private static int readCalls(CallLineReader lines, byte[] batch, CallVisitor visitor)
      throws IOException {
    int unreadable = 0;
    try {
      lines.read(batch);
    } catch (UnreadableException unread) {
      unreadable++;
    }
    for (int number = 1; number <= lines.count(); number++) {
      try {
        CallLine line = lines.line(number);
        if (!line.isSettlement()) {
          visitor.visit(line, number);
        }
      } catch (UnreadableException unread) {
        unreadable++;
      }
    }
    return unreadable;
  }

  private static void rethrow(@Nullable Throwable failed) throws IOException {
    if (failed instanceof IOException ofDisk) {
      throw new IOException(ofDisk.getMessage(), ofDisk);
    }
    if (failed != null) {
      throw new IllegalStateException("a thread of the replay failed", failed);
    }
  }

  private static IllegalStateException interrupted(InterruptedException interrupted) {
    Thread.currentThread().interrupt();
    return new IllegalStateException("interrupted", interrupted);
  }

  private final class Worker {
    private final ReplayTally tally = new ReplayTally();
    private final CallLineReader lines = new CallLineReader(hash, rates);
    private final SortedRows.Shards stamps;
    private final SortedRows.Shards denials;
    private final CallJudge judge;
    private final long fromMillis = settings.from.toEpochMilli();
    private final long toMillis = settings.to.toEpochMilli();

    Worker(int number, PolicyVersions versions) throws IOException {
      int shards = settings.threads;
      // each worker has a buffer for each shard
      int bufferRows = Math.max(1, MAX_BUFFERED_ROWS / (shards * shards));
      stamps =
          new SortedRows.Shards(
              shards, folder.file("stamps-" + number), Row.WIDTH, Row.SORTED, bufferRows);
      denials =
          new SortedRows.Shards(
              shards,
              folder.file("denials-" + number),
              Row.DENIAL_WIDTH,
              Row.DENIAL_SORTED,
              bufferRows);
      judge = new CallJudge(new Expectations(versions, hash, rates), stamps, denials, tally);
    }

    void read(int partition, long offset, byte[] value) throws IOException {
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
    }
  }

  @Override
  public void close() {
    threads.shutdown();
    try {
      boolean isEnded = false;
      while (!isEnded) {
        isEnded = threads.awaitTermination(1, TimeUnit.MINUTES);
      }
      for (Worker worker : workers) {
        worker.stamps.close();
        worker.denials.close();
      }
      folder.close();
    } catch (InterruptedException interrupted) {
      throw interrupted(interrupted);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }
}
