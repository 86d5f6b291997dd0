// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A file system of some MiB in memory. This process needs the right to mount file systems. */
public record SmallDisk(Path folder, Path ballast) implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SmallDisk.class);
  private static final int MEBIBYTE = 1024 * 1024;

  /** Thrown when a small disk cannot be mounted. */
  public static final class NoDiskException extends IOException {
    private static final long serialVersionUID = 1L;

    NoDiskException(String message) {
      super(message);
    }
  }

  /** Mounts a small disk on a folder. Creates the folder if it is missing. */
  public static SmallDisk mount(Path folder, int mebibytes)
      throws IOException, InterruptedException {
    Files.createDirectories(folder);
    int status =
        new ProcessBuilder(
                "mount", "-t", "tmpfs", "-o", "size=" + mebibytes + "m", "tmpfs", folder.toString())
            .start()
            .waitFor();
    if (status != 0) {
      throw new NoDiskException("a tmpfs cannot be mounted here (status " + status + ")");
    }
    return new SmallDisk(folder, folder.resolve("ballast"));
  }

  /** Fills the disk to the last byte. */
  public void fill() throws IOException {
    try (OutputStream out = Files.newOutputStream(ballast)) {
      for (int size = MEBIBYTE; size > 0; size /= 2) {
        writeUntilFull(out, new byte[size]);
      }
    }
  }

  private static void writeUntilFull(OutputStream out, byte[] block) {
    try {
      while (true) {
        out.write(block);
      }
    } catch (IOException full) {
      LOG.debug("no room for {} bytes more", block.length);
    }
  }

  /** Frees the space that {@link #fill} occupied. */
  public void empty() throws IOException {
    Files.delete(ballast);
  }

  @Override
  public void close() throws IOException {
    try {
      new ProcessBuilder("umount", "-l", folder.toString()).start().waitFor();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
