// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.aggregator.topology.StreamsSettings;
import io.weir.topics.kafka.KafkaRefusal;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A check that no other running aggregator has the same {@code WEIR_INSTANCE}. If two processes had
 * the same name, Kafka would fence the older process when the newer process joins. The older
 * process would then join again and fence the newer process, and so on. The check accepts a group
 * member with the same data folder, because it is an earlier run of this aggregator. If the folder
 * of an earlier run is lost, the check waits until Kafka removes the earlier run's group member at
 * the session timeout.
 */
final class NameCheck {
  private static final Logger LOG = LoggerFactory.getLogger(NameCheck.class);

  /**
   * Time to wait in addition to the session timeout of a dead member, because a busy broker removes
   * the member late.
   */
  private static final Duration MARGIN = Duration.ofSeconds(10);

  /** Fixed session timeout of earlier versions of Weir. */
  private static final Duration FORMER_SESSION = Duration.ofSeconds(20);

  /**
   * Maximum wait for a group that never becomes stable. The unit is the session timeout plus {@link
   * #MARGIN}.
   */
  private static final int MAX_WAITS = 4;

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private NameCheck() {}

  /**
   * Returns the longest session timeout that a dead member may have. The result is the greater of
   * the current setting and {@link #FORMER_SESSION}.
   */
  private static Duration longestSession(StreamsSettings settings) {
    Duration own = settings.sessionTimeout();
    return own.compareTo(FORMER_SESSION) > 0 ? own : FORMER_SESSION;
  }

  /**
   * Waits until Kafka has removed every member with the same name and another data folder.
   *
   * @throws AggregatorStartException if Kafka does not answer, or does not remove the member
   *     because the member is alive
   */
  static void requireUnique(StreamsSettings settings) throws AggregatorStartException {
    try (Admin admin = connect(settings)) {
      long end = System.nanoTime() + longestSession(settings).plus(MARGIN).toNanos();
      Optional<MemberDescription> other = other(admin, settings);
      other.ifPresent(
          member ->
              LOG.warn(
                  "waiting until Kafka removes a group member with the same WEIR_INSTANCE instance={} host={}",
                  settings.instance(),
                  member.host()));
      while (other.isPresent()) {
        if (System.nanoTime() - end > 0) {
          throw new AggregatorStartException(
              "another aggregator with the name "
                  + settings.instance()
                  + " (WEIR_INSTANCE) is running at "
                  + other.get().host()
                  + " with client id "
                  + other.get().clientId()
                  + "; set another WEIR_INSTANCE");
        }
        LockSupport.parkNanos(PAUSE_NANOS);
        other = other(admin, settings);
      }
    } catch (ExecutionException failed) {
      throw new AggregatorStartException(
          "Kafka did not return the members of the group "
              + settings.applicationId()
              + ": "
              + KafkaRefusal.explain(failed, "Describe", String.valueOf(failed.getCause())),
          failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new AggregatorStartException("interrupted while checking WEIR_INSTANCE", interrupted);
    }
  }

  /**
   * Returns whether another process uses the name of the current Streams thread, which Kafka has
   * fenced. Kafka can also fence a consumer because of the consumer's own join request, if the
   * consumer abandons the request before the broker processes it (KAFKA-20983). No process sends
   * heartbeats for the group member of this request, so Kafka removes the member at the session
   * timeout.
   *
   * <p>A session begins again when a rebalance ends. So this method waits for the sum of the
   * session timeout and {@link #MARGIN} after the last rebalance, but in total at most {@value
   * #MAX_WAITS} times this sum. Returns false if Kafka does not answer.
   */
  static boolean isTaken(StreamsSettings settings) {
    String thread = Thread.currentThread().getName();
    String name = settings.instance() + thread.substring(thread.lastIndexOf('-'));
    long timeoutNanos = longestSession(settings).plus(MARGIN).toNanos();
    boolean isThere = false;
    try (Admin admin = connect(settings)) {
      long startNanos = System.nanoTime();
      long rebalancedNanos = startNanos;
      do {
        LockSupport.parkNanos(PAUSE_NANOS);
        try {
          Optional<ConsumerGroupDescription> group = group(admin, settings);
          isThere =
              members(group).stream()
                  .anyMatch(each -> each.groupInstanceId().orElse("").equals(name));
          if (group.isPresent() && group.get().groupState() != GroupState.STABLE) {
            rebalancedNanos = System.nanoTime();
          }
        } catch (ExecutionException unanswered) {
          LOG.warn(
              "cannot check the instance name: Kafka did not return the group's members, member={}",
              name,
              unanswered);
          isThere = false;
        }
      } while (isThere
          && System.nanoTime() - rebalancedNanos < timeoutNanos
          && System.nanoTime() - startNanos < MAX_WAITS * timeoutNanos);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    return isThere;
  }

  private static Admin connect(StreamsSettings settings) {
    return settings.kafka().admin(Map.of());
  }

  private static Optional<MemberDescription> other(Admin admin, StreamsSettings settings)
      throws ExecutionException, InterruptedException {
    return members(group(admin, settings)).stream()
        .filter(member -> isOther(member, settings))
        .findFirst();
  }

  /** Returns the group; empty if the group does not exist yet. */
  private static Optional<ConsumerGroupDescription> group(Admin admin, StreamsSettings settings)
      throws ExecutionException, InterruptedException {
    String id = settings.applicationId();
    try {
      return Optional.of(
          Objects.requireNonNull(
                  admin.describeConsumerGroups(List.of(id)).describedGroups().get(id))
              .get());
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof GroupIdNotFoundException) {
        return Optional.empty();
      }
      throw failed;
    }
  }

  private static Collection<MemberDescription> members(Optional<ConsumerGroupDescription> group) {
    return group.map(ConsumerGroupDescription::members).orElse(List.of());
  }

  private static boolean isOther(MemberDescription member, StreamsSettings settings) {
    String name = member.groupInstanceId().orElse("");
    int threadNumber = name.lastIndexOf('-');
    return threadNumber > 0
        && name.substring(0, threadNumber).equals(settings.instance())
        && !member.clientId().startsWith(settings.clientId());
  }
}
