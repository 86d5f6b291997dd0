// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks once a second whether the content of files has changed, by the content itself: a file that
 * is replaced, mounted anew or written within the resolution of its time is noticed all the same.
 * What is read must be small. Thread-safe.
 */
final class WatchedFile implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WatchedFile.class);
  private static final long PAUSE_MILLIS = 1_000;

  private final List<Path> files;
  private final Changed changed;
  private final ScheduledExecutorService thread;
  private byte[] last;

  /** Takes a new content. */
  interface Changed {
    /**
     * Reads the files anew.
     *
     * @throws Exception if they are invalid, in which case what was read before stays in force
     */
    void take() throws Exception;
  }

  private WatchedFile(List<Path> files, Changed changed) throws IOException {
    this.files = files;
    this.changed = changed;
    this.last = content();
    this.thread =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread watching = new Thread(task, "weir-watch-" + files.get(0).getFileName());
              watching.setDaemon(true);
              return watching;
            });
  }

  /**
   * Begins to watch. The content of now counts as known.
   *
   * @throws IOException if a file cannot be read
   */
  static WatchedFile start(List<Path> files, Changed changed) throws IOException {
    WatchedFile watched = new WatchedFile(files, changed);
    var unused =
        watched.thread.scheduleWithFixedDelay(
            watched::look, PAUSE_MILLIS, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
    return watched;
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

  private void look() {
    try {
      byte[] now = content();
      if (!Arrays.equals(now, last)) {
        // told once for each content, whatever becomes of it
        last = now;
        changed.take();
        LOG.info("file_read_again files={}", files);
      }
    } catch (Exception invalid) {
      LOG.error("file_not_read files={} detail=\"{}\"", files, invalid.getMessage());
    }
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
