// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntSupplier;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Counts of the requests that the check API's server refused, and figures of its load. Thread-safe.
 */
public final class HttpStatistics {
  /** Why a call was shed, which means that it was answered 503 before any work was done for it. */
  public enum Shed {
    /** The bound on calls in progress was reached. */
    CALLS_UNDER_WAY,
    /** Calls waited too long for a thread. */
    QUEUE_DELAY,
    /** The memory for incomplete bodies was used up. */
    BODIES,
    /** The bound on batches of checks in progress was reached. */
    BATCHES,
    /** The bound on scrapes in progress was reached. */
    SCRAPES
  }

  /** The part of a request that did not arrive in time. */
  public enum Part {
    /** The request line or the header fields. */
    HEADERS,
    /** The body. */
    BODY
  }

  private static final double NANOS_PER_SECOND = 1e9;

  private final Map<Shed, LongAdder> shed = adders(Shed.class);
  private final Map<Part, LongAdder> timedOut = adders(Part.class);
  private volatile @Nullable Admission admission;
  private volatile IntSupplier connections = () -> 0;
  private volatile LongConsumer onAnswer = nanos -> {};
  private volatile IncompleteBodies bodies = new IncompleteBodies();

  private static <E extends Enum<E>> Map<E, LongAdder> adders(Class<E> of) {
    Map<E, LongAdder> adders = new EnumMap<>(of);
    for (E each : of.getEnumConstants()) {
      adders.put(each, new LongAdder());
    }
    return Collections.unmodifiableMap(adders);
  }

  /**
   * Sets the listener that receives, in nanoseconds, how long each call admitted from now on took.
   */
  public void onAnswer(LongConsumer listener) {
    onAnswer = listener;
  }

  void answered(long nanos) {
    onAnswer.accept(nanos);
  }

  void shedOne(Shed reason) {
    adder(shed, reason).increment();
  }

  void timedOutOne(Part part) {
    adder(timedOut, part).increment();
  }

  private static <E> LongAdder adder(Map<E, LongAdder> adders, E of) {
    return Objects.requireNonNull(adders.get(of));
  }

  void watch(Admission newAdmission, IncompleteBodies newBodies) {
    admission = newAdmission;
    bodies = newBodies;
  }

  void watchConnections(IntSupplier count) {
    connections = count;
  }

  /** Returns the number of calls shed for a reason. */
  public long shed(Shed reason) {
    return adder(shed, reason).sum();
  }

  /** Returns the number of requests answered 408 because the given part did not arrive in time. */
  public long timedOut(Part part) {
    return adder(timedOut, part).sum();
  }

  /** Returns the number of calls admitted and not yet answered. */
  public long callsUnderWay() {
    Admission now = admission;
    return now == null ? 0 : now.underWay();
  }

  /** Returns the bound on calls in progress. */
  public long maxCallsUnderWay() {
    Admission now = admission;
    return now == null ? 0 : now.maxCallsUnderWay();
  }

  /** Returns the share of calls that is shed at present, 0 to 1. */
  public double shedShare() {
    Admission now = admission;
    return now == null ? 0 : now.share();
  }

  /** Returns the shortest wait of a call for a thread in the last tenth of a second, in seconds. */
  public double queueDelaySeconds() {
    Admission now = admission;
    return now == null ? 0 : now.queueDelayNanos() / NANOS_PER_SECOND;
  }

  /** Returns the number of open connections. */
  public long connections() {
    return connections.getAsInt();
  }

  /** Returns the number of requests whose body is incomplete. */
  public long incompleteBodies() {
    return bodies.count();
  }

  /** Returns the number of bytes kept of those bodies. */
  public long incompleteBodyBytes() {
    return bodies.bytes();
  }
}
