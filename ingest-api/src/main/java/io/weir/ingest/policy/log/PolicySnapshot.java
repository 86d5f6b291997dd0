// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import io.weir.topics.wire.MalformedRecordException;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.zip.CRC32C;
import java.util.zip.CheckedOutputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file on the node's disk with the last policy version that the node has read. The node replaces
 * the file atomically, so that a crash leaves the previous version. Thread-safe.
 */
final class PolicySnapshot {
  static final String FILE = "policies.json";
  private static final int BUFFER_BYTES = 64 << 10;

  /**
   * The name of the last member of the file. The member's value is the CRC-32C of all bytes before
   * the comma that precedes the member.
   */
  private static final String CHECKSUM = "crc32c";

  private static final Logger LOG = LoggerFactory.getLogger(PolicySnapshot.class);

  private final Path folder;
  private final Path file;

  /** The newest version on the disk. Read from the disk at its first use. */
  private @Nullable PolicyLogState state;

  private boolean isRead;

  /** Creates the snapshot in a folder. Does not access the folder. */
  PolicySnapshot(Path folder) {
    this.folder = folder;
    this.file = folder.resolve(FILE);
  }

  /** Returns whether the folder has a snapshot, readable or not. */
  boolean exists() {
    return Files.exists(file);
  }

  /** Returns the stored version; null if the file is missing, damaged or unreadable. */
  synchronized @Nullable PolicyLogState state() {
    if (!isRead) {
      PolicyLogState read = exists() ? read() : null;
      state = read == null || read.version() == 0 ? null : read;
      isRead = true;
    }
    return state;
  }

  private @Nullable PolicyLogState read() {
    try {
      requireUndamaged();
    } catch (IOException damaged) {
      LOG.error("policies_snapshot_unreadable file={} detail=\"{}\"", file, damaged.toString());
      return null;
    }
    try (JsonParser json = PolicyEntryCodec.JSON.createParser(file.toFile())) {
      List<PolicyEntry> entries = new ArrayList<>();
      while (json.nextToken() != null) {
        // only the entries are objects directly within an array
        if (json.currentToken() == JsonToken.START_OBJECT
            && json.getParsingContext().getParent().inArray()) {
          JsonNode each = json.readValueAsTree();
          PolicyKey.Kind kind =
              PolicyKey.Kind.valueOf(each.path("kind").asText().toUpperCase(Locale.ROOT));
          PolicyEntry entry =
              PolicyEntryCodec.decode(new PolicyKey(kind, each.path("name").asText()), each);
          entries.add(entry);
        }
      }
      return PolicyLogState.EMPTY.after(entries);
    } catch (IOException
        | IllegalArgumentException
        | MalformedRecordException
        | PolicyLogState.InvalidPoliciesException unreadable) {
      LOG.error("policies_snapshot_unreadable file={} detail=\"{}\"", file, unreadable.toString());
      return null;
    }
  }

  /** Checks the checksum at the end of the file against the bytes before it. */
  private void requireUndamaged() throws IOException {
    CRC32C checksum = new CRC32C();
    String tail;
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      long content = channel.size() - tail(checksum).length();
      ByteBuffer bytes = ByteBuffer.allocate(BUFFER_BYTES);
      for (long at = 0; at < content; at += bytes.limit()) {
        bytes.clear().limit((int) Math.min(BUFFER_BYTES, content - at));
        readFully(channel, bytes, at);
        checksum.update(bytes);
      }
      bytes.clear().limit((int) (channel.size() - Math.max(0, content)));
      readFully(channel, bytes, Math.max(0, content));
      tail = StandardCharsets.US_ASCII.decode(bytes).toString();
    }
    if (!tail.equals(tail(checksum))) {
      throw new IOException("the checksum is wrong or missing, so the file is damaged");
    }
  }

  private static void readFully(FileChannel channel, ByteBuffer bytes, long from)
      throws IOException {
    while (bytes.hasRemaining()) {
      if (channel.read(bytes, from + bytes.position()) < 0) {
        throw new IOException("the file was truncated while it was read");
      }
    }
    bytes.flip();
  }

  /** Returns the last bytes of the file, which contain the checksum of all earlier bytes. */
  private static String tail(CRC32C checksum) {
    return String.format(Locale.ROOT, ",\"%s\":\"%08x\"}", CHECKSUM, checksum.getValue());
  }

  /** Replaces the stored version. A failure is logged. */
  synchronized void replace(PolicyLogState next) {
    state = next;
    isRead = true;
    try {
      write(next);
    } catch (IOException failed) {
      LOG.error("policies_snapshot_not_written folder={}", folder, failed);
    }
  }

  private void write(PolicyLogState written) throws IOException {
    Files.createDirectories(folder);
    Path next = folder.resolve(FILE + ".next");
    // a crashed process may have left the file with other permissions
    Files.deleteIfExists(next);
    try (FileChannel channel =
        FileChannel.open(
            next, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), ownerOnly())) {
      write(written, channel);
      channel.force(true);
    }
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  private static void write(PolicyLogState written, FileChannel channel) throws IOException {
    // keep the stream open, because closing it would close the channel before it is forced to disk
    OutputStream stream = new BufferedOutputStream(Channels.newOutputStream(channel), BUFFER_BYTES);
    CRC32C checksum = new CRC32C();
    JsonGenerator json =
        PolicyEntryCodec.JSON.createGenerator(new CheckedOutputStream(stream, checksum));
    json.writeStartObject();
    json.writeNumberField("version", written.version());
    json.writeArrayFieldStart("entries");
    for (PolicyEntry entry : written.entries()) {
      json.writeStartObject();
      json.writeStringField("kind", entry.key().kind().word());
      json.writeStringField("name", entry.key().name());
      PolicyEntryCodec.writeMembers(entry, json);
      json.writeEndObject();
    }
    json.writeEndArray();
    json.flush();
    stream.write(tail(checksum).getBytes(StandardCharsets.US_ASCII));
    stream.flush();
  }

  /**
   * Returns file permissions that allow only the process's user to read the hashes of API keys.
   * Returns no permissions if the file system does not support permissions.
   */
  private FileAttribute<?>[] ownerOnly() throws IOException {
    return Files.getFileStore(folder).supportsFileAttributeView(PosixFileAttributeView.class)
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }
}
