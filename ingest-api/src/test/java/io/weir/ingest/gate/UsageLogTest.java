// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.policy.PolicyFile;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Usage that has happened becomes lines that are billed, whatever policies say. */
final class UsageLogTest {
  private final KeptCalls log = new KeptCalls();
  private final PolicyMatcher policies =
      PolicyMatcher.of(
          assertInstanceOf(
                  PolicyFile.Content.Valid.class,
                  PolicyFile.parse(
                      """
                      policies:
                        - {name: none, limit: {algorithm: deny}}
                      clients:
                        tokyo: {time_zone: Asia/Tokyo}
                      """))
              .policies());
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final UsageLog usage = new UsageLog(() -> policies, log, registry);

  @Test
  void line_isAllowed_byNoPolicy_atTheTimeOfTheEvent_inTheClientsBillingPeriod() {
    long at = log.nowEpochMillis - 86_400_000;
    var unused =
        usage.submit(
            List.of(
                new Usage("ce:1:s:1", "acme", "-", "tokens", 12, at),
                new Usage("ce:1:s:2", "tokyo", "-", "tokens", 1, at)));

    CallEvent line = log.calls.get(0);
    assertTrue(line.allowed() && line.idFromCaller());
    assertEquals(DecidedBy.NONE, line.decidedBy());
    assertEquals(12, line.quantity());
    assertEquals(at, line.decidedAtEpochMillis());
    assertEquals(0, line.policiesVersion());
    assertEquals(List.of(), line.charges());
    assertNotNull(log.calls.get(1).billing());
    assertEquals(0, log.underWay());
  }

  @Test
  void fault_endsTheTicket() {
    List<Usage> wrong = List.of(new Usage("", "acme", "-", "tokens", 1, 1));
    assertThrows(IllegalArgumentException.class, () -> usage.submit(wrong));
    assertEquals(0, log.underWay());
  }

  @Test
  void refusal_isCounted() {
    log.refusal = new Recorded.Refused(Recorded.Reason.FULL, "full");
    var unused = usage.submit(List.of(new Usage("i", "acme", "-", "tokens", 1, 1)));
    assertEquals(1, registry.get("weir.usage.events").tag("outcome", "not-kept").counter().count());
  }
}
