// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * A journal that writes lines on a platform thread of its own, while the caller parks.
 *
 * <p>For callers on virtual threads: a write holds the thread that carries them for as long as the
 * disk takes, and the same few carry the thread that asks the decision cache. With as many carriers
 * as processors, a disk that stalls would keep every call of the node from being decided.
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
    if (failure instanceof JournalException said) {
      throw said;
    }
    if (failure instanceof RuntimeException unexpected) {
      throw unexpected;
    }
    if (failure != null) {
      throw new IllegalStateException(failure);
    }
  }

  /** Waits for the end also when interrupted: the lines are being written all the same. */
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

  /** Ends the thread and closes the journal; nobody appends any more. */
  @Override
  public void close() {
    writer.shutdown();
    super.close();
  }
}
