// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class RateLimitJsonTest {
  private static final String WHOLE =
      """
      {"domain":"shop","hits_addend":3,"descriptors":[{"entries":[{"key":"a","value":"b"}],\
      "limit":{"requestsPerUnit":4294967295,"unit":"HOUR"},"hitsAddend":"7"}]}""";

  private static RateLimitRequest read(String json, boolean ignoresUnknown)
      throws InvalidRequestException {
    return RateLimitJson.read(json.getBytes(StandardCharsets.UTF_8), ignoresUnknown);
  }

  @Test
  void read_namesInCamelCase_orAsInTheMessages() throws InvalidRequestException {
    RateLimitRequest request = read(WHOLE, false);

    assertEquals("shop", request.getDomain());
    assertEquals(3, request.getHitsAddend());
    assertEquals(7, request.getDescriptors(0).getHitsAddend().getValue());
    assertEquals(-1, request.getDescriptors(0).getLimit().getRequestsPerUnit());
    assertEquals(request, read(WHOLE.replace("hits_addend", "hitsAddend"), false));
  }

  @Test
  void read_unknownMembers_arePassedOverOnlyIfThatIsSet() throws InvalidRequestException {
    String json = "{\"domain\":\"shop\",\"weight\":1}";

    assertThrows(InvalidRequestException.class, () -> read(json, false));
    assertEquals("shop", read(json, true).getDomain());
  }

  @Test
  void read_negativeHits_areRefused_evenIfUnknownMembersAreIgnored()
      throws InvalidRequestException {
    for (String value : List.of("true", "\"yes\"", "\"true\"", "1", "0", "[]", "{}")) {
      for (boolean ignoresUnknown : new boolean[] {false, true}) {
        InvalidRequestException refused =
            assertThrows(
                InvalidRequestException.class,
                () -> read(negativeHits(value), ignoresUnknown),
                value);
        assertEquals("descriptors[0].is_negative_hits", refused.field());
      }
    }
    for (String value : List.of("false", "null")) {
      assertEquals(1, read(negativeHits(value), false).getDescriptorsCount());
    }
  }

  private static String negativeHits(String value) {
    return "{\"domain\":\"shop\",\"descriptors\":[{\"isNegativeHits\":" + value + "}]}";
  }

  @Test
  void read_unpairedSurrogates_haveEndpointsOfTheirOwn() throws InvalidRequestException {
    DescriptorReader reader = new DescriptorReader(List.of("user"));

    for (String key : List.of("path", "user")) {
      var one = reader.read(read(surrogate(key, "\\ud800"), false)).get(0).call().facts();
      var other = reader.read(read(surrogate(key, "\\ud801"), false)).get(0).call().facts();
      assertNotEquals(one.client() + one.endpoint(), other.client() + other.endpoint(), key);
    }
  }

  private static String surrogate(String key, String escaped) {
    return "{\"domain\":\"shop\",\"descriptors\":[{\"entries\":[{\"key\":\""
        + key
        + "\",\"value\":\""
        + escaped
        + "\"}]}]}";
  }

  @Test
  void read_whatIsNoRequest_isRefused_andNeverAFault() {
    for (String json :
        List.of(
            "",
            "null",
            "1",
            "[]",
            "{",
            "{}{}",
            "{\"domain\":{}}",
            "{\"domain\":\"a\",\"domain\":\"b\"}",
            "{\"descriptors\":{}}",
            "{\"descriptors\":[null]}",
            "{\"descriptors\":[1]}",
            "{\"descriptors\":[{\"entries\":[{\"key\":[]}]}]}",
            "{\"hitsAddend\":-1}",
            "{\"hitsAddend\":1e99}",
            "{\"hitsAddend\":\"x\"}",
            "{\"descriptors\":[{\"hitsAddend\":\"18446744073709551616\"}]}",
            "{\"descriptors\":[{\"limit\":{\"unit\":\"FORTNIGHT\"}}]}",
            "[".repeat(100))) {
      InvalidRequestException refused =
          assertThrows(InvalidRequestException.class, () -> read(json, false), json);
      assertTrue(refused.rule().startsWith("the body "), refused.rule());
    }
    byte[] notText = {'{', '"', (byte) 0xff, (byte) 0xfe, '"', ':', '1', '}'};
    assertThrows(InvalidRequestException.class, () -> RateLimitJson.read(notText, false));
  }

  @Test
  void read_damagedBodies_areReadOrRefused() {
    byte[] whole = WHOLE.getBytes(StandardCharsets.UTF_8);
    int refusals = 0;
    for (int seed = 0; seed < 3_000; seed++) {
      Random random = new Random(seed);
      byte[] damaged = whole.clone();
      for (int i = random.nextInt(4); i >= 0; i--) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      }
      try {
        var unused = RateLimitJson.read(damaged, random.nextBoolean());
      } catch (InvalidRequestException refused) {
        refusals++;
      } catch (RuntimeException fault) {
        throw new AssertionError("seed " + seed, fault);
      }
    }
    assertTrue(refusals > 1_000, () -> "too few were damaged");
  }
}
