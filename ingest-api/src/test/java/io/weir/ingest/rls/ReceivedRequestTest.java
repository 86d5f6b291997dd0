// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static io.weir.ingest.rls.Requests.negative;
import static io.weir.ingest.rls.Requests.withHits;
import static io.weir.ingest.rls.Requests.withLimit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import java.io.ByteArrayInputStream;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class ReceivedRequestTest {
  private static final RateLimitRequest WHOLE =
      Requests.of(
              withLimit(
                  withHits(descriptor("path", "/api/é/QQ", "b", "c"), 7), 5, RateLimitUnit.HOUR),
              negative(descriptor("d", "QQ")))
          .toBuilder()
          .setHitsAddend(3)
          .build();

  private static RateLimitRequest read(byte[] message) {
    RateLimitRequest request =
        ReceivedRequest.MARSHALLER.parse(new ByteArrayInputStream(message)).request();
    assertNotNull(request);
    return request;
  }

  @Test
  void valueThatIsNotUtf8_isReadWithAllElse_andIsLikeNoOther() {
    RateLimitRequest read = read(Requests.withBytes(WHOLE, "QQ", 0xc3, 0x28));

    assertEquals("/api/é/\udcc3(", read.getDescriptors(0).getEntries(0).getValue());
    assertEquals("\udcc3(", read.getDescriptors(1).getEntries(0).getValue());
    RateLimitRequest.Builder others = read.toBuilder();
    others.getDescriptorsBuilder(0).getEntriesBuilder(0).setValue("/api/é/QQ");
    others.getDescriptorsBuilder(1).getEntriesBuilder(0).setValue("QQ");
    assertEquals(WHOLE, others.build());
    assertNotEquals(read, read(Requests.withBytes(WHOLE, "QQ", 0xc4, 0x28)));
  }

  @Test
  void callsOfValuesThatAreNotUtf8_haveEndpointsAndClientsOfTheirOwn() throws Exception {
    DescriptorReader reader = new DescriptorReader(List.of("d"));
    var one = reader.read(read(Requests.withBytes(ofTwo(), "QQ", 0xff, 0x41)));
    var other = reader.read(read(Requests.withBytes(ofTwo(), "QQ", 0xfe, 0x41)));

    String endpoint = one.get(0).call().facts().endpoint();
    assertTrue(endpoint.startsWith("h:"), endpoint);
    assertNotEquals(endpoint, other.get(0).call().facts().endpoint());
    assertNotEquals(one.get(1).call().facts().client(), other.get(1).call().facts().client());
  }

  private static RateLimitRequest ofTwo() {
    return Requests.of(descriptor("a", "QQ"), descriptor("d", "QQ"));
  }

  @Test
  void damagedMessages_areReadOrNone_andNeverThrow() {
    byte[] whole = WHOLE.toByteArray();
    int none = 0;
    for (int seed = 0; seed < 3_000; seed++) {
      Random random = new Random(seed);
      byte[] damaged = whole.clone();
      for (int i = random.nextInt(4); i >= 0; i--) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      }
      none += ReceivedRequest.of(damaged).request() == null ? 1 : 0;
    }
    assertTrue(none > 100 && none < 3_000, "none " + none);
    assertNull(ReceivedRequest.of(new byte[] {0x0c}).request());
  }
}
