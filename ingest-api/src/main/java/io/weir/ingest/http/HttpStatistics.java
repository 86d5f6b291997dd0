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

/** What the check API's server counts about what it turned away. Safe for threads. */
public final class HttpStatistics {
  /** Why a call was shed: answered 503 before anything was done for it. */
  public enum Shed {
    /** As many calls as are allowed were under way. */
    CALLS_UNDER_WAY,
    /** Calls waited too long for a thread. */
    QUEUE_DELAY,
    /** The bodies that were not whole yet took all the memory they may. */
    BODIES,
    /** As many scrapes as are allowed were under way. */
    SCRAPES
  }

  /** What of a request did not come in time. */
  public enum Part {
    /** Its request line or header fields. */
    HEADERS,
    /** Its body. */
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

  /** Tells, in nanoseconds, how long each call that is taken in from now on took. */
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

  /** Calls shed for a reason. */
  public long shed(Shed reason) {
    return adder(shed, reason).sum();
  }

  /** Requests that were not whole in time, answered 408. */
  public long timedOut(Part part) {
    return adder(timedOut, part).sum();
  }

  /** Calls taken in and not answered yet. */
  public long callsUnderWay() {
    Admission now = admission;
    return now == null ? 0 : now.underWay();
  }

  /** Most calls that may be under way. */
  public long maxCallsUnderWay() {
    Admission now = admission;
    return now == null ? 0 : now.maxCallsUnderWay();
  }

  /** The share of calls that is shed now, 0 to 1. */
  public double shedShare() {
    Admission now = admission;
    return now == null ? 0 : now.share();
  }

  /** How long calls waited for a thread in the last tenth of a second, at least; in seconds. */
  public double queueDelaySeconds() {
    Admission now = admission;
    return now == null ? 0 : now.queueDelayNanos() / NANOS_PER_SECOND;
  }

  /** Open connections. */
  public long connections() {
    return connections.getAsInt();
  }

  /** Requests whose body is on its way. */
  public long incompleteBodies() {
    return bodies.count();
  }

  /** Bytes kept of those bodies. */
  public long incompleteBodyBytes() {
    return bodies.bytes();
  }
}
