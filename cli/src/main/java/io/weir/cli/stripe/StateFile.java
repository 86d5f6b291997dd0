// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import io.weir.cli.console.CommandFailedException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A file of JSON lines. A line is on disk when the method that writes it returns. If the process
 * ended while writing, the last line is incomplete, and {@link #read} ignores it. Only one process
 * at a time may use the file. Not thread-safe.
 */
final class StateFile implements AutoCloseable {
  /** File size in bytes from which the file is rewritten without superseded lines. */
  private static final long LARGE = 16L << 20;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path path;
  private final boolean isReadOnly;
  private final @Nullable FileChannel lock;
  private @Nullable FileChannel channel;
  private long replacedSize;

  /**
   * Opens and locks the file.
   *
   * @param isReadOnly whether nothing may change: writes are ignored
   * @throws CommandFailedException if another process uses it, or the folder cannot be written to
   */
  StateFile(Path path, boolean isReadOnly) {
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
        throw new CommandFailedException("another export uses " + path + " (--state)");
      }
    } catch (OverlappingFileLockException ours) {
      throw new CommandFailedException("another export uses " + path + " (--state)", ours);
    } catch (IOException failed) {
      throw failed(failed);
    }
  }

  private Path sibling(String suffix) {
    return path.resolveSibling(path.getFileName() + suffix);
  }

  /**
   * Passes the lines of the file to a visitor; no line if there is no file. The visitor throws
   * {@link IllegalArgumentException} if a line is wrong.
   */
  void read(Consumer<JsonNode> visitor) throws IOException {
    if (!exists()) {
      return;
    }
    try (BufferedReader lines = Files.newBufferedReader(path)) {
      String line = lines.readLine();
      while (line != null) {
        String following = lines.readLine();
        try {
          visitor.accept(JSON.readTree(line));
        } catch (JsonProcessingException notJson) {
          if (following != null) {
            throw damaged(notJson);
          }
        } catch (IllegalArgumentException wrong) {
          throw wrong.getCause() instanceof UnrecognizedPropertyException unknown
              ? unknownMember(unknown.getPropertyName())
              : damaged(wrong);
        }
        line = following;
      }
    } catch (CharacterCodingException notText) {
      throw damaged(notText);
    }
  }

  void append(String line) throws IOException {
    if (channel != null) {
      write(channel, line + "\n");
    }
  }

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
      folder.force(true); // otherwise a power failure may undo the move
    }
    replacedSize = channel.size();
  }

  /** Returns whether most of the file may be superseded. */
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

  boolean exists() {
    return Files.exists(path);
  }

  /** Returns the exception for an empty or damaged file. */
  CommandFailedException damaged(@Nullable Throwable cause) {
    return new CommandFailedException(
        path
            + " (--state) is empty or damaged: restore it from a copy. Rows that were sent since the"
            + " copy are sent again. Stripe recognizes a repeated event only for 24 hours: rows that"
            + " were sent earlier are billed twice",
        cause);
  }

  /** Returns the exception for a member that this version does not know. */
  CommandFailedException unknownMember(String name) {
    return new CommandFailedException(
        path + " (--state) has the member '" + name + "', which is unknown: update weir");
  }

  /** Returns the exception for a failure of the disk. */
  CommandFailedException failed(IOException failed) {
    return new CommandFailedException(path + " (--state) cannot be written: " + failed, failed);
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
