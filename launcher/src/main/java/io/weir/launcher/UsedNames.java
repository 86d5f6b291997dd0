// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.decision.PolicyMatcher;
import io.weir.launcher.verify.TopicReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.TokenBucketLimit;
import io.weir.topics.model.UsageKey;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** The clients, endpoints and meters of calls that were counted, as the state topic tells them. */
final class UsedNames {
  private final Set<Used> all = new HashSet<>();

  /** One combination that was counted. */
  record Used(String client, String endpoint, String meter) {}

  /** Says whether names fit what a policy is for. */
  interface Fit {
    boolean fits(Used names);
  }

  private UsedNames() {}

  /** Reads the state topic to its end. */
  static UsedNames read(String bootstrapServers) {
    UsedNames names = new UsedNames();
    try (TopicReader reader = new TopicReader(bootstrapServers, Topics.STATE)) {
      reader.read(reader.ends(), names::take, read -> {});
    }
    return names;
  }

  private void take(ConsumerRecord<String, byte[]> record) {
    Header type = record.headers().lastHeader(BatchHeaderCodec.TYPE_HEADER);
    if (record.value() == null
        || type == null
        || !UsageStateCodec.TYPE.equals(new String(type.value(), StandardCharsets.UTF_8))) {
      return;
    }
    try {
      UsageKey key = UsageStateCodec.decode(record.value()).key();
      all.add(new Used(key.client(), key.endpoint(), key.meter()));
    } catch (MalformedRecordException notOurs) {
      throw new CommandFailedException(
          record.topic() + "-" + record.partition() + "-" + record.offset() + ": " + notOurs,
          notOurs);
    }
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** What of a policy's patterns no counted call fits, in words. */
  List<String> unusedOf(Policy policy) {
    List<String> unused = new ArrayList<>();
    PolicyMatch match = policy.match();
    for (String pattern : match.client()) {
      add(unused, "client", pattern, new PolicyMatch(List.of(pattern), List.of(), List.of()));
    }
    for (String pattern : match.endpoint()) {
      add(unused, "endpoint", pattern, new PolicyMatch(List.of(), List.of(pattern), List.of()));
    }
    for (String pattern : match.meter()) {
      add(unused, "meter", pattern, new PolicyMatch(List.of(), List.of(), List.of(pattern)));
    }
    if (unused.isEmpty() && !isUsed(match)) {
      unused.add("no call that was counted fits client, endpoint and meter at once");
    }
    return unused;
  }

  private void add(List<String> unused, String field, String pattern, PolicyMatch match) {
    if (!isUsed(match)) {
      unused.add("match." + field + " '" + pattern + "' fits no call that was counted");
    }
  }

  private boolean isUsed(PolicyMatch match) {
    Fit fit = matcher(match);
    return all.stream().anyMatch(fit::fits);
  }

  /** Tells what a match fits, by the rules that decide calls. */
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
                        FailureMode.LOCAL))));
    return names -> !matcher.match(names.client(), names.endpoint(), names.meter(), 0).isEmpty();
  }
}
