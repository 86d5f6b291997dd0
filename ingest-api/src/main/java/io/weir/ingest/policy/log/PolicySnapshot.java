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
 * The last version that a node has read, on its disk. Replaced as a whole, so that a process that
 * dies leaves the earlier one.
 *
 * @param state the stored version
 */
record PolicySnapshot(PolicyLogState state) {
  static final String FILE = "policies.json";
  private static final int BUFFER_BYTES = 64 << 10;

  /** The last member of the file: the CRC-32C of all bytes before the comma that precedes it. */
  private static final String CHECKSUM = "crc32c";

  private static final Logger LOG = LoggerFactory.getLogger(PolicySnapshot.class);

  /** Returns whether a folder has a snapshot, readable or not. */
  static boolean exists(Path folder) {
    return Files.exists(folder.resolve(FILE));
  }

  /** Reads the snapshot in a folder; returns null if it is missing, damaged or unreadable. */
  static @Nullable PolicySnapshot read(Path folder) {
    Path file = folder.resolve(FILE);
    if (!Files.exists(file)) {
      return null;
    }
    try {
      requireUndamaged(file);
    } catch (IOException damaged) {
      LOG.error("policies_snapshot_unreadable file={} detail=\"{}\"", file, damaged.toString());
      return null;
    }
    try (JsonParser json = PolicyEntryCodec.JSON.createParser(file.toFile())) {
      List<PolicyEntry> entries = new ArrayList<>();
      while (json.nextToken() != null) {
        // the entries are the only objects within an array
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
      return new PolicySnapshot(PolicyLogState.EMPTY.after(entries));
    } catch (IOException
        | IllegalArgumentException
        | MalformedRecordException
        | PolicyLogState.InvalidPoliciesException unreadable) {
      LOG.error("policies_snapshot_unreadable file={} detail=\"{}\"", file, unreadable.toString());
      return null;
    }
  }

  /** Throws if the checksum at the end of a file does not match the bytes before it. */
  private static void requireUndamaged(Path file) throws IOException {
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

  /** Returns the end of the file: a member with the checksum of everything before it. */
  private static String tail(CRC32C checksum) {
    return String.format(Locale.ROOT, ",\"%s\":\"%08x\"}", CHECKSUM, checksum.getValue());
  }

  /** Replaces the snapshot in a folder. */
  void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    Path next = folder.resolve(FILE + ".next");
    // a file left by a process that died may have other permissions
    Files.deleteIfExists(next);
    try (FileChannel channel =
        FileChannel.open(
            next,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            ownerOnly(folder))) {
      write(channel);
      channel.force(true);
    }
    Files.move(
        next,
        folder.resolve(FILE),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
  }

  private void write(FileChannel channel) throws IOException {
    // not closed, because that would close the channel, which must still be forced to disk
    OutputStream file = new BufferedOutputStream(Channels.newOutputStream(channel), BUFFER_BYTES);
    CRC32C checksum = new CRC32C();
    JsonGenerator json =
        PolicyEntryCodec.JSON.createGenerator(new CheckedOutputStream(file, checksum));
    json.writeStartObject();
    json.writeNumberField("version", state.version());
    json.writeArrayFieldStart("entries");
    for (PolicyEntry entry : state.entries()) {
      json.writeStartObject();
      json.writeStringField("kind", entry.key().kind().word());
      json.writeStringField("name", entry.key().name());
      PolicyEntryCodec.writeMembers(entry, json);
      json.writeEndObject();
    }
    json.writeEndArray();
    json.flush();
    file.write(tail(checksum).getBytes(StandardCharsets.US_ASCII));
    file.flush();
  }

  /**
   * Returns the rights by which only the process's user may read hashes of API keys, if supported.
   */
  private static FileAttribute<?>[] ownerOnly(Path folder) throws IOException {
    return Files.getFileStore(folder).supportsFileAttributeView(PosixFileAttributeView.class)
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }
}
