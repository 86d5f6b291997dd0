// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches files for changes by comparing their content once a second. The comparison also detects a
 * file that is replaced, mounted again, or written within the resolution of its timestamp. New
 * content takes effect when two consecutive reads return the same content, so partly written
 * content never takes effect. The files must be small. Thread-safe.
 */
public final class WatchedFile implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WatchedFile.class);
  private static final long PAUSE_MILLIS = 1_000;
  private static final byte[] NOTHING = {};
  private static final AtomicInteger REFUSED = new AtomicInteger();

  private final List<Path> files;
  private final Changed changed;
  private final ScheduledExecutorService thread;
  private byte[] last = NOTHING;
  private byte[] seen = NOTHING;
  private @Nullable String refusal;
  private boolean isClosed;

  /** Listener for new content. */
  interface Changed {
    /**
     * Reads the files again.
     *
     * @throws Exception if a file is not valid; the previous content then stays in use
     */
    void take() throws Exception;
  }

  private WatchedFile(List<Path> files, Changed changed) {
    this.files = files;
    this.changed = changed;
    this.thread =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread watching = new Thread(task, "weir-watch-" + files.get(0).getFileName());
              watching.setDaemon(true);
              return watching;
            });
  }

  /**
   * Starts to watch files. The method calls the listener once for the current content, because the
   * content may have changed since the caller read it.
   */
  static WatchedFile start(List<Path> files, Changed changed) {
    WatchedFile watched = new WatchedFile(files, changed);
    var unused =
        watched.thread.scheduleWithFixedDelay(
            watched::look, PAUSE_MILLIS, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
    return watched;
  }

  /**
   * Returns the number of watched files of this process that cannot be read or are not valid. The
   * last valid content of these files stays in use.
   */
  public static int countRefused() {
    return REFUSED.get();
  }

  private byte[] content() throws IOException {
    byte[] all = new byte[0];
    for (Path file : files) {
      byte[] one = Files.readAllBytes(file);
      int begin = all.length;
      all = Arrays.copyOf(all, begin + one.length + Integer.BYTES);
      System.arraycopy(one, 0, all, begin, one.length);
      all[all.length - 1] = (byte) one.length;
    }
    return all;
  }

  private synchronized void look() {
    if (isClosed) {
      return;
    }
    try {
      byte[] now = content();
      boolean isSettled = Arrays.equals(now, seen);
      seen = now;
      if (!isSettled || Arrays.equals(now, last)) {
        return; // the file is being written, or its content is not new
      }
      boolean isFirst = last.length == 0;
      last = now;
      changed.take();
      if (!Arrays.equals(now, content())) {
        last = NOTHING; // the content has changed meanwhile, so it is read again
        return;
      }
      if (!isFirst) {
        LOG.info("file_read_again files={}", files);
      }
      setRefusal(null);
    } catch (IOException unreadable) {
      last = NOTHING;
      setRefusal(reason(unreadable));
    } catch (Throwable invalid) {
      setRefusal(reason(invalid));
    }
  }

  private static String reason(Throwable failure) {
    if (failure instanceof NoSuchFileException missing) {
      return "file does not exist: " + missing.getFile();
    }
    if (failure instanceof AccessDeniedException denied) {
      return "this process has no permission to read " + denied.getFile();
    }
    String message = failure.getMessage();
    return message == null ? failure.toString() : message;
  }

  private void setRefusal(@Nullable String now) {
    if (now != null && !now.equals(refusal)) {
      LOG.error("file_not_read files={} detail=\"{}\"", files, now);
    }
    REFUSED.addAndGet((now == null ? 0 : 1) - (refusal == null ? 0 : 1));
    refusal = now;
  }

  @Override
  public void close() {
    thread.shutdownNow();
    synchronized (this) {
      isClosed = true;
      setRefusal(null);
    }
  }
}
