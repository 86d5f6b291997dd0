// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.topics.model.BucketKeys;
import io.weir.topics.model.ColdCacheMode;
import io.weir.topics.model.Correction;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.PolicySet;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Which debt cap a correction gets. */
final class DebtCapsTest {
  private static final String LONG_NAME = "n".repeat(65);

  private final AtomicReference<PolicySet> policies =
      new AtomicReference<>(
          new PolicySet(1, List.of(policy("burst", 7), policy(LONG_NAME, 8), policy("été", 9))));
  private final DebtCaps caps = new DebtCaps(policies::get);

  @Test
  void of_policyInForce_isThePolicysCap_alsoWhenItsNameIsHashed() {
    assertEquals(7, caps.of(of(BucketKeys.ofClient("burst", "c"))));
    assertEquals(7, caps.of(of(BucketKeys.ofClientAndEndpoint("burst", "{c}", "GET /:x"))));
    assertEquals(
        7, caps.of(of(BucketKeys.ofPeriod(BucketKeys.ofClient("burst", "c"), 1_764_547_200))));
    assertEquals(8, caps.of(of(BucketKeys.ofClient(LONG_NAME, "c"))));
    assertEquals(
        8, caps.of(of(BucketKeys.ofPeriod(BucketKeys.ofClient(LONG_NAME, "c"), 1_764_547_200))));
    assertEquals(9, caps.of(of(BucketKeys.ofClientAndEndpoint("été", "c", "GET /"))));
  }

  @Test
  void of_policyIsGone_isOneCapacity() {
    assertEquals(100, caps.of(of(BucketKeys.ofClient("gone", "c"))));
  }

  @Test
  void of_policiesChanged_isTheNewCap() {
    caps.of(of(BucketKeys.ofClient("burst", "c")));
    policies.set(new PolicySet(2, List.of(policy("burst", 0))));

    assertEquals(0, caps.of(of(BucketKeys.ofClient("burst", "c"))));
    assertEquals(100, caps.of(of(BucketKeys.ofClient("été", "c"))));
  }

  @Test
  void of_bucketThatIsNotOurs_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> caps.of(of("somebody's key")));
  }

  private static Policy policy(String name, long debtCapTokens) {
    return new Policy(
        name,
        new PolicyMatch(List.of(), List.of(), List.of()),
        List.of(KeyPart.CLIENT),
        TestCorrections.LIMIT,
        PolicyMode.ENFORCE,
        FailureMode.OPEN,
        ColdCacheMode.ALLOW,
        debtCapTokens);
  }

  private static Correction of(String bucket) {
    return new Correction(
        bucket, TestCorrections.LIMIT, 1, 1, 0, 0, 0, 0, Correction.Cause.GAP, 0, 0);
  }
}
