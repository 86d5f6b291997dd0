// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Lines of JSON that are on the disk when a method returns. Only the last line may be cut off, by
 * the end of the process; it is then passed over. One process at a time has the file. Not
 * thread-safe.
 */
final class StateFile implements AutoCloseable {
  /** From which size on lines that have been superseded are removed, in bytes. */
  private static final long LARGE = 16L << 20;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path path;
  private final boolean isReadOnly;
  private final @Nullable FileChannel lock;
  private @Nullable FileChannel channel;
  private long replacedSize;

  /**
   * Takes the file.
   *
   * @param isReadOnly whether nothing is to be changed: writes are passed over
   * @throws ExportFailedException if another process has it, or the folder cannot be written to
   */
  StateFile(Path path, boolean isReadOnly) throws ExportFailedException {
    this.path = path.toAbsolutePath();
    this.isReadOnly = isReadOnly;
    if (isReadOnly) {
      lock = null;
      return;
    }
    try {
      lock =
          FileChannel.open(sibling(".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      if (lock.tryLock() == null) {
        throw new ExportFailedException("another export has " + path + " (--state)");
      }
    } catch (OverlappingFileLockException ours) {
      throw new ExportFailedException("another export has " + path + " (--state)", ours);
    } catch (IOException failed) {
      throw failed(failed);
    }
  }

  private Path sibling(String suffix) {
    return path.resolveSibling(path.getFileName() + suffix);
  }

  /** Passes on the lines that are there; none if there is no file. */
  void read(Consumer<JsonNode> visitor) throws IOException, ExportFailedException {
    if (!Files.exists(path)) {
      return;
    }
    try (BufferedReader lines = Files.newBufferedReader(path)) {
      String line = lines.readLine();
      while (line != null) {
        String following = lines.readLine();
        try {
          visitor.accept(JSON.readTree(line));
        } catch (JsonProcessingException | IllegalArgumentException notALine) {
          if (following != null) {
            throw new ExportFailedException(
                path
                    + " (--state) is damaged, in the midst: restore it from a copy. What was sent"
                    + " since the copy was made is sent again, and Stripe knows an event again for"
                    + " 24 hours only: from an older copy it is billed twice",
                notALine);
          }
        }
        line = following;
      }
    }
  }

  /** Appends a line. */
  void append(String line) throws IOException {
    if (channel == null) {
      return;
    }
    write(channel, line + "\n");
  }

  /** Puts other lines in the place of all lines. */
  void replace(String lines) throws IOException {
    if (isReadOnly) {
      return;
    }
    if (channel != null) {
      channel.close();
    }
    Path made = sibling(".new");
    channel =
        FileChannel.open(
            made,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE);
    write(channel, lines);
    Files.move(made, path, StandardCopyOption.ATOMIC_MOVE);
    try (FileChannel folder = FileChannel.open(path.resolveSibling("."))) {
      folder.force(true); // else a power failure may undo the move
    }
    replacedSize = channel.size();
  }

  /** Returns whether most of the file may have been superseded. */
  boolean isLarge() throws IOException {
    return channel != null && channel.size() > LARGE + 2 * replacedSize;
  }

  static void write(FileChannel channel, String text) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
    channel.force(false);
  }

  /** Returns the exception for a failure of the disk. */
  ExportFailedException failed(IOException failed) {
    return new ExportFailedException(path + " (--state) cannot be kept: " + failed, failed);
  }

  @Override
  public void close() {
    try {
      if (channel != null) {
        channel.close();
      }
      if (lock != null) {
        lock.close();
      }
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  @Override
  public String toString() {
    return path.toString();
  }
}
