// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The last version that a node has read, on its disk. Replaced as a whole, so that a process that
 * dies leaves the one before.
 *
 * @param state the version
 */
record PolicySnapshot(PolicyState state) {
  static final String FILE = "policies.json";

  private static final Logger LOG = LoggerFactory.getLogger(PolicySnapshot.class);

  /** Reads the snapshot in a folder; null if there is none, or none that can be read. */
  static @Nullable PolicySnapshot read(Path folder) {
    Path file = folder.resolve(FILE);
    if (!Files.exists(file)) {
      return null;
    }
    try {
      JsonNode tree = PolicyEntryCodec.JSON.readTree(file.toFile());
      List<PolicyEntry> entries = new ArrayList<>();
      for (JsonNode each : tree.path("entries")) {
        PolicyKey.Kind kind =
            PolicyKey.Kind.valueOf(each.path("kind").asText().toUpperCase(Locale.ROOT));
        entries.add(PolicyEntryCodec.decode(new PolicyKey(kind, each.path("name").asText()), each));
      }
      return new PolicySnapshot(PolicyState.EMPTY.after(entries));
    } catch (IOException
        | IllegalArgumentException
        | MalformedRecordException
        | PolicyState.InvalidPoliciesException unreadable) {
      LOG.error("policies_snapshot_unreadable file={} detail=\"{}\"", file, unreadable.toString());
      return null;
    }
  }

  /** Replaces the snapshot in a folder. */
  void write(Path folder) throws IOException {
    ObjectNode tree = PolicyEntryCodec.JSON.createObjectNode();
    tree.put("version", state.version());
    ArrayNode entries = tree.putArray("entries");
    for (PolicyEntry entry : state.entries()) {
      ObjectNode each = entries.addObject();
      each.put("kind", entry.key().kind().word());
      each.put("name", entry.key().name());
      each.setAll(PolicyEntryCodec.tree(entry));
    }
    Files.createDirectories(folder);
    Path next = folder.resolve(FILE + ".next");
    // one that a process has left when it died may have other permissions
    Files.deleteIfExists(next);
    try (FileChannel channel =
        FileChannel.open(
            next,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            ownerOnly(folder))) {
      ByteBuffer bytes = ByteBuffer.wrap(PolicyEntryCodec.bytes(tree));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
    Files.move(
        next,
        folder.resolve(FILE),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
  }

  /** Only the user of the process may read the hashes of API keys, where there are such rights. */
  private static FileAttribute<?>[] ownerOnly(Path folder) throws IOException {
    return Files.getFileStore(folder).supportsFileAttributeView(PosixFileAttributeView.class)
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }
}
