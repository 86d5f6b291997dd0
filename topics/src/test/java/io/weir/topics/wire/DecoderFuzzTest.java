// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.weir.testing.SuiteForm;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a decoder returns a record or throws MalformedRecordException, for all bytes. */
final class DecoderFuzzTest {
  private static final Pattern NUMBER = Pattern.compile("-?\\d+");
  private static final String[] EDGES = {
    "0",
    "1",
    "-1",
    "2147483648",
    "9007199254740991",
    "9007199254740992",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1e300",
    "1.5",
    "null",
    "true",
    "\"7\"",
    "[]",
    "{}",
    "\"\""
  };

  /** A decoder of one record. */
  private interface Decoder {
    Object decode(byte[] bytes) throws MalformedRecordException;
  }

  private static final Map<String, Decoder> DECODERS =
      Map.ofEntries(
          Map.entry("accuracy.json", PartitionAccuracyCodec::decode),
          Map.entry("cache-loss.json", CacheLossCodec::decode),
          Map.entry("correction.json", CorrectionCodec::decode),
          Map.entry("ledger-adjustment.json", LedgerRowCodec::decode),
          Map.entry("ledger-close.json", LedgerRowCodec::decode),
          Map.entry("ledger-final.json", LedgerRowCodec::decode),
          Map.entry("progress.json", PartitionProgressCodec::decode),
          Map.entry("restored.json", CorrectionCodec::decodeRestored),
          Map.entry("settlement-before.json", SettlementVerdictCodec::decode),
          Map.entry("settlement-refused.json", SettlementVerdictCodec::decode),
          Map.entry("usage-state.json", UsageStateCodec::decode),
          Map.entry("v2/ledger-final.json", LedgerRowCodec::decode),
          Map.entry("v2/usage-state.json", UsageStateCodec::decode));

  @ParameterizedTest
  @ValueSource(
      strings = {
        "accuracy.json",
        "cache-loss.json",
        "correction.json",
        "ledger-adjustment.json",
        "ledger-close.json",
        "ledger-final.json",
        "progress.json",
        "restored.json",
        "usage-state.json",
        "v2/ledger-final.json",
        "v2/usage-state.json"
      })
  void anyBytes_areReadOrMalformed(String name) throws IOException {
    byte[] stored = stored(name);
    Decoder decoder = DECODERS.get(name);
    assertNotNull(decoder);
    int tries = SuiteForm.isFull() ? 100_000 : 5_000;
    Random random = new Random(name.hashCode());
    for (int i = 0; i < tries; i++) {
      byte[] bytes = damaged(stored, random);
      try {
        assertNotNull(decoder.decode(bytes));
      } catch (MalformedRecordException malformed) {
        assertNotNull(malformed.getMessage());
      } catch (RuntimeException escaped) {
        throw new AssertionError(new String(bytes, StandardCharsets.UTF_8), escaped);
      }
    }
  }

  private static byte[] damaged(byte[] stored, Random random) {
    byte[] bytes = stored;
    int damages = 1 + random.nextInt(3);
    for (int i = 0; i < damages; i++) {
      bytes = random.nextInt(4) == 0 ? withByte(bytes, random) : withNumber(bytes, random);
    }
    return bytes;
  }

  private static byte[] withByte(byte[] bytes, Random random) {
    byte[] copy = bytes.clone();
    if (copy.length > 0) {
      copy[random.nextInt(copy.length)] = (byte) random.nextInt(256);
    }
    return copy;
  }

  /** Replaces one number with a number at the edge of its range, or with another text. */
  private static byte[] withNumber(byte[] bytes, Random random) {
    String text = new String(bytes, StandardCharsets.UTF_8);
    Matcher numbers = NUMBER.matcher(text);
    int skip = random.nextInt(20);
    int found = 0;
    while (numbers.find()) {
      if (found++ == skip) {
        String edge = EDGES[random.nextInt(EDGES.length)];
        return (text.substring(0, numbers.start()) + edge + text.substring(numbers.end()))
            .getBytes(StandardCharsets.UTF_8);
      }
    }
    return bytes;
  }

  private static byte[] stored(String name) throws IOException {
    String path = name.startsWith("v2/") ? name : "v1/" + name;
    try (InputStream in = DecoderFuzzTest.class.getResourceAsStream(path)) {
      assertNotNull(in, name);
      return in.readAllBytes();
    }
  }
}
