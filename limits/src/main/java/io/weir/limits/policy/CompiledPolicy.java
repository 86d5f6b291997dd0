// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.BucketKey;
import io.weir.limits.IpAddress;
import io.weir.limits.PolicyLimit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A policy in the form in which a {@link PolicyMatcher} matches it against calls. Immutable.
 *
 * @param keyPart the policy's name, encoded as in bucket keys
 * @param perEndpoint whether each endpoint has its own bucket
 * @param enforced whether the policy can deny a call
 * @param held whether the bucket must not decide until the cache is restored
 */
record CompiledPolicy(
    Policy policy,
    List<NamePattern> client,
    List<NamePattern> endpoint,
    List<NamePattern> meter,
    @Nullable NetworkSet networks,
    Map<String, List<NamePattern>> attributes,
    String keyPart,
    boolean perEndpoint,
    boolean enforced,
    boolean held) {
  /**
   * Returns the rank of the policy. If not all policies fit into a check, the policies with the
   * greatest ranks are kept.
   */
  int weight() {
    return policy.denies() ? 2 : enforced ? 1 : 0;
  }

  static CompiledPolicy of(Policy policy) {
    boolean enforced = policy.mode() == PolicyMode.ENFORCE;
    return new CompiledPolicy(
        policy,
        compile(policy.match().client()),
        policy.match().endpoint().stream().map(NamePattern::ofEndpoint).toList(),
        compile(policy.match().meter()),
        policy.match().ip().isEmpty() ? null : new NetworkSet(policy.match().ip()),
        compile(policy.match().attributes()),
        BucketKey.Part.of(policy.name()).keyText(),
        policy.key().contains(KeyPart.ENDPOINT),
        enforced,
        // a shadow policy must not make a check undecided
        enforced && policy.onColdCache() == ColdCacheMode.HOLD);
  }

  /**
   * Returns this policy with another limit. The new policy uses the compiled patterns of this
   * policy.
   */
  CompiledPolicy withLimit(PolicyLimit limit) {
    return new CompiledPolicy(
        policy.withLimit(limit),
        client,
        endpoint,
        meter,
        networks,
        attributes,
        keyPart,
        perEndpoint,
        enforced,
        held);
  }

  private static List<NamePattern> compile(List<String> patterns) {
    return patterns.stream().map(NamePattern::of).toList();
  }

  private static Map<String, List<NamePattern>> compile(Map<String, List<String>> patterns) {
    Map<String, List<NamePattern>> compiled = new HashMap<>();
    patterns.forEach((name, ofValue) -> compiled.put(name, compile(ofValue)));
    return compiled;
  }

  /** Returns whether a call matches. The caller has already matched the client. */
  boolean fits(CallFacts call, @Nullable String plan) {
    return NamePattern.anyMatches(endpoint, call.endpoint())
        && NamePattern.anyMatches(meter, call.meter())
        && (plan != null || !policy.key().contains(KeyPart.PLAN))
        && (call.ip() != null || !policy.key().contains(KeyPart.IP))
        && fitsIp(call.ip())
        && fitsAttributes(call.attributes());
  }

  private boolean fitsIp(@Nullable IpAddress ip) {
    return networks == null || (ip != null && networks.contains(ip));
  }

  private boolean fitsAttributes(Map<String, String> ofCall) {
    for (Map.Entry<String, List<NamePattern>> wanted : attributes.entrySet()) {
      String value = ofCall.get(wanted.getKey());
      if (value == null || !NamePattern.anyMatches(wanted.getValue(), value)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the key of a bucket that Weir does not record. The key excludes the bucket's period.
   */
  String cacheOnlyKey(CallFacts call, @Nullable String plan, BucketKey.@Nullable Part endpoint) {
    List<KeyPart> key = policy.key();
    IpAddress ip = call.ip();
    String text =
        BucketKey.cacheOnlyText(
            key.contains(KeyPart.CLIENT) ? BucketKey.Part.of(call.client()) : null,
            keyPart,
            plan != null && key.contains(KeyPart.PLAN) ? BucketKey.Part.of(plan) : null,
            endpoint,
            ip != null && key.contains(KeyPart.IP) ? policy.ipPrefix().of(ip) : null);
    return policy.limit().keyOf(text);
  }

  boolean mayMatchUnnamedClients() {
    return client.isEmpty()
        || client.stream().anyMatch(pattern -> !(pattern instanceof NamePattern.Exact));
  }
}
