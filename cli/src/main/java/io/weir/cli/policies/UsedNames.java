// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.policies;

import io.weir.cli.records.TopicReader;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.UsageKey;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.UsageStateCodec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The clients, endpoints and meters of counted calls, as the state topic lists them. */
final class UsedNames {
  private final Set<Used> all = new HashSet<>();

  /**
   * Pairs of client and meter that have an others row, which counts endpoints without a row of
   * their own.
   */
  private final Set<Used> unlisted = new HashSet<>();

  private int skipped;

  /** A combination of client, endpoint and meter that occurs in counted calls. */
  record Used(String client, String endpoint, String meter) {}

  /** A predicate on names. */
  interface Fit {
    boolean fits(Used names);
  }

  private UsedNames() {}

  /** Reads the state topic to its end. */
  static UsedNames read(KafkaConnection kafka) {
    UsedNames names = new UsedNames();
    try (TopicReader reader = new TopicReader(kafka, Topics.STATE)) {
      reader.read(names::take);
    }
    return names;
  }

  private void take(ConsumerRecord<String, byte[]> record) {
    String type = HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
    if (record.value() == null || !UsageStateCodec.TYPE.equals(type)) {
      return;
    }
    try {
      UsageKey key = UsageStateCodec.decode(record.value()).key();
      Used used = new Used(key.client(), key.endpoint(), key.meter());
      (key.others() ? unlisted : all).add(used);
    } catch (MalformedRecordException reportedByVerify) {
      skipped++;
    }
  }

  /** Returns the number of usage rows that could not be read. */
  int skipped() {
    return skipped;
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** Returns the advice on a policy: its patterns and meters that match no counted call. */
  List<String> adviceOn(Policy policy) {
    List<String> advice = new ArrayList<>();
    PolicyMatch match = policy.match().ofNames(); // addresses and attributes are not counted
    for (String pattern : match.client()) {
      add(advice, "client", pattern, new PolicyMatch(List.of(pattern), List.of(), List.of()));
    }
    for (String pattern : match.endpoint()) {
      add(advice, "endpoint", pattern, new PolicyMatch(List.of(), List.of(pattern), List.of()));
    }
    for (String pattern : match.meter()) {
      add(advice, "meter", pattern, new PolicyMatch(List.of(), List.of(), List.of(pattern)));
    }
    boolean isOfEveryMeter = match.meter().isEmpty() || match.meter().contains("*");
    Set<String> meters = isOfEveryMeter ? metersOf(match) : Set.of();
    if (meters.size() > 1 && policy.limit().capacityTokens() > 0) {
      advice.add(
          "matches every meter, so counted calls of the meters "
              + String.join(", ", meters)
              + " share its bucket");
    }
    if (advice.isEmpty() && !isUsed(match)) {
      advice.add("matches no counted call: none has the client, the endpoint and the meter");
    }
    return advice;
  }

  private void add(List<String> advice, String field, String pattern, PolicyMatch match) {
    if (!isUsed(match)) {
      advice.add("match." + field + " '" + pattern + "' matches no counted call");
    }
  }

  /**
   * Returns whether a counted call matches. For endpoints without a row of their own, only client
   * and meter must match.
   */
  private boolean isUsed(PolicyMatch match) {
    Fit fit = matcher(match);
    Fit ofAnyEndpoint = matcher(new PolicyMatch(match.client(), List.of(), match.meter()));
    return all.stream().anyMatch(fit::fits) || unlisted.stream().anyMatch(ofAnyEndpoint::fits);
  }

  /** Returns the meters of the counted calls that match. */
  private Set<String> metersOf(PolicyMatch match) {
    Fit fit = matcher(match);
    Set<Used> ofAnyEndpoint = match.endpoint().isEmpty() ? unlisted : Set.of();
    return Stream.concat(all.stream(), ofAnyEndpoint.stream())
        .filter(fit::fits)
        .map(Used::meter)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns a matcher that follows the same rules as the check API. */
  static Fit matcher(PolicyMatch match) {
    PolicyMatcher matcher =
        PolicyMatcher.of(
            new PolicySet(
                1,
                List.of(
                    new Policy(
                        "one",
                        match,
                        List.of(KeyPart.CLIENT),
                        TokenBucketLimit.DENY,
                        PolicyMode.ENFORCE,
                        CacheFailureMode.LOCAL))));
    return names -> !matcher.match(names.client(), names.endpoint(), names.meter(), 0).isEmpty();
  }
}
