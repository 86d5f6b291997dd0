// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.BucketKey;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.StillDenied.Shortage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A check with buckets on several servers, split into one part per server. This class also merges
 * the decisions on the parts. Immutable.
 *
 * @param parts the parts; the last part has the client's own buckets
 */
record SplitCheck(Check whole, List<Part> parts) {

  /**
   * The part of a check that one server decides.
   *
   * @param check the check with the buckets that the server holds
   * @param indexes the indexes of these buckets in the whole check
   */
  record Part(RedisDecisionCache server, Check check, List<Integer> indexes) {
    Part {
      indexes = List.copyOf(indexes);
    }

    /** Returns the key of the first bucket. */
    String name() {
      return check.buckets().get(0).bucket();
    }

    /** Returns the shortages of this part's denial, with the bucket indexes of the whole check. */
    private List<Shortage> shortages(Decision.StillDenied denied) {
      return denied.shortages().stream()
          .map(each -> new Shortage(indexes.get(each.bucket()), each.reply()))
          .toList();
    }
  }

  SplitCheck {
    parts = List.copyOf(parts);
  }

  /**
   * Returns the part with the client's own buckets. If all buckets are shared, returns any part.
   */
  Part last() {
    return parts.get(parts.size() - 1);
  }

  /** Returns all parts except {@link #last}. */
  List<Part> shared() {
    return parts.subList(0, parts.size() - 1);
  }

  /** Returns the denial of the last part as a denial of the whole check. */
  Decision.StillDenied ofLast(Decision.StillDenied denied) {
    return new Decision.StillDenied(last().shortages(denied));
  }

  /** Splits a check by the server that holds each key. */
  static SplitCheck of(Check whole, Function<String, RedisDecisionCache> holder) {
    Map<RedisDecisionCache, List<Integer>> indexes = new LinkedHashMap<>();
    List<BucketRequest> buckets = whole.buckets();
    for (int i = 0; i < buckets.size(); i++) {
      indexes
          .computeIfAbsent(holder.apply(buckets.get(i).bucket()), none -> new ArrayList<>())
          .add(i);
    }
    List<Part> parts = new ArrayList<>();
    indexes.forEach(
        (server, at) -> {
          Check check = whole.of(at.stream().map(buckets::get).toList());
          boolean isShared =
              check.buckets().stream().allMatch(each -> BucketKey.isShared(each.bucket()));
          parts.add(isShared ? 0 : parts.size(), new Part(server, check, at));
        });
    return new SplitCheck(whole, parts);
  }

  /**
   * Returns the decision on the whole check.
   *
   * @param decisions the decisions on the parts, in the order of the parts
   */
  Decision merge(List<Decision> decisions) {
    Decision.Undecided undecided = null;
    for (Decision each : decisions) {
      if (each instanceof Decision.Undecided none
          && (undecided == null || !Failures.isMoved(none))) {
        undecided = none; // a retry is permitted only if all other parts have taken nothing
      }
    }
    if (undecided != null) {
      return Failures.isMoved(undecided) ? undecided : denialDespite(decisions, undecided);
    }
    List<Shortage> shortages = new ArrayList<>();
    @Nullable BucketReply[] replies = new BucketReply[whole.buckets().size()];
    long decidedAtEpochMicros = 0;
    boolean denied = false;
    for (int i = 0; i < parts.size(); i++) {
      List<Integer> indexes = parts.get(i).indexes();
      Decision decision = decisions.get(i);
      if (decision instanceof Decision.StillDenied still) {
        shortages.addAll(parts.get(i).shortages(still));
      } else if (decision instanceof Decision.Decided decided) {
        // the last part has the client's buckets; the clock of its server dates the client's
        // records
        decidedAtEpochMicros = decided.decidedAtEpochMicros();
        denied |= decided instanceof Decision.Denied;
        for (int bucket = 0; bucket < indexes.size(); bucket++) {
          replies[indexes.get(bucket)] = decided.buckets().get(bucket);
        }
      }
    }
    if (!shortages.isEmpty()) {
      return new Decision.StillDenied(shortages);
    }
    List<BucketReply> all = Arrays.asList(replies);
    return denied
        ? denied(decidedAtEpochMicros, all)
        : new Decision.Allowed(decidedAtEpochMicros, all);
  }

  /**
   * Returns the denial of a part, if there is one, although another part is undecided. The
   * undecided part may have taken tokens and kept them.
   */
  private Decision denialDespite(List<Decision> decisions, Decision.Undecided undecided) {
    List<Shortage> shortages = new ArrayList<>();
    for (int i = 0; i < parts.size(); i++) {
      List<Integer> indexes = parts.get(i).indexes();
      if (decisions.get(i) instanceof Decision.StillDenied still) {
        shortages.addAll(parts.get(i).shortages(still));
      } else if (decisions.get(i) instanceof Decision.Denied denied) {
        for (int bucket = 0; bucket < indexes.size(); bucket++) {
          BucketReply reply = denied.buckets().get(bucket);
          if (reply.retryAfterMicros() > 0 && whole.buckets().get(indexes.get(bucket)).enforced()) {
            shortages.add(new Shortage(indexes.get(bucket), reply));
          }
        }
      }
    }
    return shortages.isEmpty() ? undecided : new Decision.StillDenied(shortages, true);
  }

  private Decision denied(long decidedAtEpochMicros, List<BucketReply> replies) {
    int deciding = -1;
    for (int i = 0; i < replies.size(); i++) {
      BucketReply reply = replies.get(i);
      if (!whole.buckets().get(i).enforced() || reply.retryAfterMicros() == 0) {
        continue;
      }
      if (reply.retryAfterMicros() < 0) {
        return new Decision.Denied(decidedAtEpochMicros, replies, i, true);
      }
      if (deciding < 0 || reply.retryAfterMicros() > replies.get(deciding).retryAfterMicros()) {
        deciding = i;
      }
    }
    return new Decision.Denied(decidedAtEpochMicros, replies, deciding, false);
  }
}
