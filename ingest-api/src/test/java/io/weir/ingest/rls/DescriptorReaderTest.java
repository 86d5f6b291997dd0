// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static io.weir.ingest.rls.Requests.withHits;
import static io.weir.ingest.rls.Requests.withLimit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.Descriptor;
import io.weir.limits.FixedWindow;
import io.weir.limits.IpAddress;
import io.weir.limits.Names;
import io.weir.limits.PolicyLimit;
import io.weir.limits.TokenBucketLimit;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class DescriptorReaderTest {
  private final DescriptorReader reader = new DescriptorReader(List.of("user_id", "tenant"));

  private Call call(RateLimitDescriptor descriptor) {
    return read(Requests.of(descriptor)).get(0).call();
  }

  private List<DescriptorReader.Asked> read(RateLimitRequest request) {
    try {
      return reader.read(request);
    } catch (InvalidRequestException refused) {
      throw new AssertionError(refused);
    }
  }

  @Test
  void read_entriesWithoutAClient_areOfTheDomain() {
    Call call = call(descriptor("generic_key", "slow", "path", "/v1/items"));

    assertEquals("shop", call.facts().client());
    assertEquals("shop;generic_key=slow;path=/v1/items", call.facts().endpoint());
    assertEquals("calls", call.facts().meter());
    assertEquals(1, call.cost());
    assertNull(call.facts().ip());
    assertEquals(
        Map.of(
            "envoy.domain", "shop",
            "envoy.descriptor", "generic_key;path",
            "generic_key", "slow",
            "path", "/v1/items"),
        call.facts().attributes());
  }

  @Test
  void read_firstEntryOfAClientKey_namesTheClient_andItsValueIsNotInTheEndpoint() {
    Call call = call(descriptor("path", "/x", "tenant", "acme", "user_id", "ann"));

    assertEquals("acme", call.facts().client());
    assertEquals("shop;path=/x;tenant;user_id=ann", call.facts().endpoint());
    assertEquals("acme", call.facts().attributes().get("tenant"));
  }

  @Test
  void read_emptyValueOfAClientKey_namesNoClient() {
    Call call = call(descriptor("tenant", "", "user_id", "ann"));

    assertEquals("ann", call.facts().client());
    assertEquals("shop;tenant=;user_id", call.facts().endpoint());
  }

  @Test
  void read_valueThatCannotBeAName_isReplacedByItsHash() {
    String client = call(descriptor("user_id", "a\u0000b")).facts().client();

    assertTrue(client.matches("h:[A-Za-z0-9_-]{32}"), client);
    assertEquals(client, call(descriptor("user_id", "a\u0000b")).facts().client());
    assertNotEquals(client, call(descriptor("user_id", "a\u0000c")).facts().client());
    String longest = "x".repeat(Names.MAX_BYTES);
    assertEquals(longest, call(descriptor("user_id", longest)).facts().client());
    assertEquals(34, call(descriptor("user_id", longest + "x")).facts().client().length());
  }

  @Test
  void read_endpointThatWouldBeTooLong_isReplacedByItsHash() {
    String fits = "x".repeat(Names.MAX_BYTES - "shop;path=".length());

    assertEquals("shop;path=" + fits, call(descriptor("path", fits)).facts().endpoint());
    String hashed = call(descriptor("path", fits + "x")).facts().endpoint();
    assertTrue(hashed.matches("h:[A-Za-z0-9_-]{32}"), hashed);
    assertEquals(fits + "x", call(descriptor("path", fits + "x")).facts().attributes().get("path"));
  }

  @Test
  void read_descriptorsThatDiffer_haveDifferentEndpoints() {
    List<RateLimitDescriptor> different =
        List.of(
            descriptor("a", "1", "b", "2"),
            descriptor("a", "1;b=2"),
            descriptor("a", "1%3Bb=2"),
            descriptor("a", "1", "b=2", ""),
            descriptor("a=1", "", "b", "2"),
            descriptor("b", "2", "a", "1"),
            descriptor("user_id", "x"),
            descriptor("user_id", ""),
            descriptor("a", "*"),
            descriptor("a", "%2A"),
            descriptor("a", "{id}"));

    Set<String> endpoints =
        different.stream().map(each -> call(each).facts().endpoint()).collect(Collectors.toSet());
    assertEquals(different.size(), endpoints.size(), endpoints::toString);
    assertEquals("shop;a=%2A", call(descriptor("a", "*")).facts().endpoint());
  }

  @Test
  void read_keyThatIsRepeated_orReserved_hasItsNumberBehindIt() {
    Call call = call(descriptor("k", "1", "k", "2", "k", "3", "envoy.domain", "other"));

    assertEquals("1", call.facts().attributes().get("k"));
    assertEquals("2", call.facts().attributes().get("k#2"));
    assertEquals("3", call.facts().attributes().get("k#3"));
    assertEquals("shop", call.facts().attributes().get("envoy.domain"));
    assertEquals("other", call.facts().attributes().get("envoy.domain#2"));
    Descriptor descriptor = Objects.requireNonNull(call.descriptor());
    assertEquals(List.of("k", "k#2", "k#3", "envoy.domain#2"), descriptor.entries());
    assertEquals("k;k;k;envoy.domain", call.facts().attributes().get("envoy.descriptor"));
  }

  @Test
  void read_addressOfTheCaller_isOnlyTakenIfItIsOne() {
    assertEquals(
        IpAddress.parse("2001:db8::1"),
        call(descriptor("remote_address", "2001:db8::1")).facts().ip());
    assertNull(call(descriptor("remote_address", "unknown")).facts().ip());
    assertNull(call(descriptor("masked_remote_address", "10.0.0.0/24")).facts().ip());
  }

  @Test
  void read_hits_areUnsigned_andTheDescriptorsOwnComeFirst() {
    RateLimitDescriptor plain = descriptor("a", "b");
    RateLimitRequest request =
        Requests.of(plain, withHits(plain, 7), withHits(plain, 0)).toBuilder()
            .setHitsAddend(-1)
            .build();

    List<DescriptorReader.Asked> asked = read(request);
    assertEquals(0xffff_ffffL, asked.get(0).call().cost());
    assertEquals(7, asked.get(1).call().cost());
    assertEquals(List.of(false, false, true), asked.stream().map(each -> each.isPeek()).toList());
    assertEquals(1, asked.get(2).call().cost());
    assertFalse(read(Requests.of(plain)).get(0).isPeek());
    assertEquals((1L << 53) - 1, call(withHits(plain, (1L << 53) - 1)).cost());
  }

  @Test
  void read_limit_isAWindowOfItsUnit() {
    assertEquals(1, window(RateLimitUnit.SECOND).lengthSeconds());
    assertEquals(60, window(RateLimitUnit.MINUTE).lengthSeconds());
    assertEquals(3_600, window(RateLimitUnit.HOUR).lengthSeconds());
    assertEquals(86_400, window(RateLimitUnit.DAY).lengthSeconds());
    assertEquals(30 * 86_400, window(RateLimitUnit.MONTH).lengthSeconds());
    assertEquals(365 * 86_400, window(RateLimitUnit.YEAR).lengthSeconds());
    assertEquals(TokenBucketLimit.DENY, limit(0, RateLimitUnit.DAY));
    assertEquals(
        0xffff_ffffL, Objects.requireNonNull(limit(-1, RateLimitUnit.DAY)).capacityTokens());
  }

  private @Nullable PolicyLimit limit(int requests, RateLimitUnit unit) {
    Call call = call(withLimit(descriptor("a", "b"), requests, unit));
    return Objects.requireNonNull(call.descriptor()).limit();
  }

  private FixedWindow window(RateLimitUnit unit) {
    FixedWindow window = (FixedWindow) Objects.requireNonNull(limit(9, unit));
    assertEquals(9, window.capacityTokens());
    return window;
  }

  @Test
  void read_moreThanTheBounds_isRefused() {
    RateLimitDescriptor good = descriptor("a", "b");
    RateLimitDescriptor wide =
        descriptor(
            Stream.generate(() -> "k")
                .limit(2L * DescriptorReader.MAX_ENTRIES)
                .toArray(String[]::new));

    assertEquals(64, read(many(good, 64)).size());
    assertRefused("descriptors must have 1 to 64 elements, but has 65", many(good, 65));
    assertEquals(1, read(Requests.of(wide)).size());
    assertRefused(
        "descriptors[0].entries must have 1 to 64 elements, but has 65",
        Requests.of(wide.toBuilder().addEntries(good.getEntries(0)).build()));
    assertRefused(
        "descriptors[0].hits_addend must be at most 9007199254740991, but is 9007199254740992",
        Requests.of(withHits(good, 1L << 53)));
    assertRefused(
        "domain must not contain control characters (U+000A at index 1)",
        Requests.of(good).toBuilder().setDomain("a\nb").build());
  }

  private static RateLimitRequest many(RateLimitDescriptor descriptor, int count) {
    return RateLimitRequest.newBuilder()
        .setDomain("shop")
        .addAllDescriptors(Collections.nCopies(count, descriptor))
        .build();
  }

  private void assertRefused(String message, RateLimitRequest request) {
    assertEquals(
        message,
        assertThrows(InvalidRequestException.class, () -> reader.read(request)).getMessage());
  }

  @Test
  void read_negativeHits_areRefused() {
    assertRefused(
        "descriptors[1].is_negative_hits must be false or absent: Weir does not give hits back",
        Requests.of(descriptor("path", "/x"), Requests.negative(descriptor("path", "/x"))));
  }
}
