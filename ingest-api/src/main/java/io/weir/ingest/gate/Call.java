// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.IpAddress;
import io.weir.limits.policy.CallFacts;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A call of a client that is named.
 *
 * @param facts what policies look at
 * @param cost tokens that the call takes, ≥ 1
 * @param id the caller's idempotency key; null if the server shall create one
 */
public record Call(CallFacts facts, long cost, @Nullable String id) implements CallRequest {
  /** Creates a call without attributes. */
  public Call(
      String client,
      String endpoint,
      String meter,
      long cost,
      @Nullable String id,
      @Nullable IpAddress ip) {
    this(new CallFacts(client, endpoint, meter, ip, Map.of()), cost, id);
  }
}
