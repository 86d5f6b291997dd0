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
 * Prevents two running aggregators with the same name. Kafka would let the newer process fence the
 * older one, which would then fence the newer one, without end. A member that used the same data
 * folder is an earlier run of this aggregator and is accepted. If the folder of an earlier run is
 * lost, Kafka removes the member when its session times out.
 */
final class NameCheck {
  private static final Logger LOG = LoggerFactory.getLogger(NameCheck.class);

  /**
   * Extra wait after the session timeout of a dead member, because a busy broker removes it later.
   */
  private static final Duration MARGIN = Duration.ofSeconds(10);

  /** Fixed session timeout of earlier versions. */
  private static final Duration FORMER_SESSION = Duration.ofSeconds(20);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private NameCheck() {}

  /**
   * Returns the longest session timeout with which a dead member may have joined: the current
   * setting, or the fixed 20 s of earlier versions.
   */
  private static Duration longestSession(StreamsSettings settings) {
    Duration own = settings.sessionTimeout();
    return own.compareTo(FORMER_SESSION) > 0 ? own : FORMER_SESSION;
  }

  /**
   * Waits until Kafka has removed every member with the same name and another data folder.
   *
   * @throws AggregatorStartException if Kafka does not remove the member, which means that it is
   *     alive, or if Kafka does not answer
   */
  static void requireUnique(StreamsSettings settings) throws AggregatorStartException {
    try (Admin admin = connect(settings)) {
      long end = System.nanoTime() + longestSession(settings).plus(MARGIN).toNanos();
      Optional<MemberDescription> other = other(admin, settings);
      other.ifPresent(
          member ->
              LOG.warn(
                  "waiting until Kafka removes an aggregator of the same name instance={} host={}",
                  settings.instance(),
                  member.host()));
      while (other.isPresent()) {
        if (System.nanoTime() - end > 0) {
          throw new AggregatorStartException(
              "another aggregator with the name "
                  + settings.instance()
                  + " (WEIR_INSTANCE) is running at "
                  + other.get().host()
                  + " as "
                  + other.get().clientId()
                  + "; names must be unique");
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
   * Returns whether another process uses the name of this Streams thread, which Kafka has fenced. A
   * consumer can also be fenced by its own join request, which it abandoned and the broker
   * processed later (KAFKA-20983). No process keeps such a member alive, so Kafka removes it when
   * its session times out. The session begins again when a rebalance ends, so this method waits for
   * the session timeout after the last rebalance. Returns false also if Kafka does not answer.
   */
  static boolean isTaken(StreamsSettings settings) {
    String thread = Thread.currentThread().getName();
    String name = settings.instance() + thread.substring(thread.lastIndexOf('-'));
    long timeoutNanos = longestSession(settings).plus(MARGIN).toNanos();
    boolean isThere = false;
    try (Admin admin = connect(settings)) {
      long rebalancedNanos = System.nanoTime();
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
      } while (isThere && System.nanoTime() - rebalancedNanos < timeoutNanos);
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

  /** Returns the group, or nothing if it does not exist yet. */
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
