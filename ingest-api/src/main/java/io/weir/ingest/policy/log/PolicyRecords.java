// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.wire.MalformedRecordException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Encodes and decodes the records of a policy log one after another, as {@link PolicyEntryCodec}
 * does. A change of many clients has one record per client. The records have the same change
 * members, and few different contents. So this class compares a record with earlier records before
 * it parses the record. A comparison takes a tenth of the time of parsing. Entries with equal
 * changes or contents share one object. Not thread-safe.
 */
final class PolicyRecords {
  private static final byte[] CONTENT =
      (",\"" + PolicyKey.Kind.CLIENT.word() + "\":").getBytes(StandardCharsets.UTF_8);

  /** Maximum number of earlier contents with which a record is compared. */
  private static final int MAX_CONTENTS = 10_000;

  /** Maximum size of a content that is compared. Larger contents are rarely equal. */
  private static final int MAX_CONTENT_BYTES = 1_000;

  /** The change of the previous record; null before the first record. */
  private PolicyEntry.@Nullable Change change;

  /** The bytes that precede the content in a record of {@link #change}. */
  private byte[] beginning = {};

  private final Map<ByteBuffer, byte[]> contents = new HashMap<>();

  /** Encodes an entry as the value of a record. */
  byte[] encode(PolicyEntry entry) {
    return isPlain(entry) ? encodePlain(entry) : PolicyEntryCodec.encode(entry);
  }

  /** Decodes the value of a record. */
  PolicyEntry decode(PolicyKey key, byte @Nullable [] value) throws MalformedRecordException {
    PolicyEntry.Change previous = change;
    byte[] known = value == null ? null : knownContent(value);
    if (known != null && previous != null && key.kind() == PolicyKey.Kind.CLIENT) {
      return PolicyEntry.ofTexts(key, previous, 0, known, null);
    }
    PolicyEntry entry = PolicyEntryCodec.decode(key, value);
    entry = entry.ofChange(begin(entry.change()));
    byte[] content = entry.contentText();
    // compare later records only with records that this class would write with the same bytes
    if (content != null
        && content.length <= MAX_CONTENT_BYTES
        && contents.size() < MAX_CONTENTS
        && isPlain(entry)
        && Arrays.equals(encodePlain(entry), value)) {
      contents.putIfAbsent(ByteBuffer.wrap(content), content);
    }
    return entry;
  }

  /** Sets the change of the previous record, and returns it. */
  private PolicyEntry.Change begin(PolicyEntry.Change next) {
    PolicyEntry.Change known = change;
    if (known != null && known.equals(next)) {
      return known;
    }
    change = next;
    beginning = PolicyEntryCodec.encodeChange(next);
    return next;
  }

  /** Returns whether an entry has only the change members and the settings of a client. */
  private static boolean isPlain(PolicyEntry entry) {
    return entry.key().kind() == PolicyKey.Kind.CLIENT
        && entry.order() == 0
        && entry.contentText() != null
        && entry.untilThenText() == null;
  }

  private byte[] encodePlain(PolicyEntry entry) {
    PolicyEntry.Change unused = begin(entry.change());
    byte[] content = Objects.requireNonNull(entry.contentText());
    ByteBuffer value = ByteBuffer.allocate(beginning.length + CONTENT.length + content.length + 1);
    return value.put(beginning).put(CONTENT).put(content).put((byte) '}').array();
  }

  /**
   * Returns the content of a record if an earlier record had the same content and the previous
   * record had the same change. Otherwise returns null.
   */
  private byte @Nullable [] knownContent(byte[] value) {
    int start = beginning.length + CONTENT.length;
    int end = value.length - 1;
    boolean isOfChange =
        start < end
            && value[end] == '}'
            && Arrays.equals(value, 0, beginning.length, beginning, 0, beginning.length)
            && Arrays.equals(value, beginning.length, start, CONTENT, 0, CONTENT.length);
    return isOfChange ? contents.get(ByteBuffer.wrap(value, start, end - start)) : null;
  }
}
