// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * A journal that appends on a platform thread of its own while the caller parks.
 *
 * <p>For callers on virtual threads: a write occupies the carrier thread for as long as the disk
 * takes, and the thread that asks the decision cache runs on the same few carriers. With as many
 * carriers as processors, a stalled disk would keep every call of the node from being decided.
 */
final class PlatformThreadJournal extends ForwardingJournal {
  private final ExecutorService writer =
      Executors.newSingleThreadExecutor(
          work -> {
            Thread thread = new Thread(work, "weir-journal");
            thread.setDaemon(true);
            return thread;
          });

  PlatformThreadJournal(Journal journal) {
    super(journal);
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    Future<?> writing =
        writer.submit(
            () -> {
              super.append(chunks);
              return chunks.size();
            });
    Throwable failure = failureOf(writing);
    if (failure instanceof JournalException expected) {
      throw expected;
    }
    if (failure instanceof RuntimeException unexpected) {
      throw unexpected;
    }
    if (failure != null) {
      throw new IllegalStateException(failure);
    }
  }

  /** Waits for the end of the write, also when interrupted: the lines are written all the same. */
  private static @Nullable Throwable failureOf(Future<?> writing) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          var unused = writing.get();
          return null;
        } catch (InterruptedException again) {
          interrupted = true;
        } catch (ExecutionException failed) {
          return failed.getCause();
        } catch (CancellationException closed) {
          return closed;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Ends the thread and closes the journal; no append may be in progress or follow. */
  @Override
  public void close() {
    writer.shutdown();
    super.close();
  }
}
