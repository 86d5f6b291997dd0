// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.count.PartitionCounter.Stores;
import io.weir.aggregator.count.SourceRecord;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Journal;
import io.weir.limits.BucketState;
import io.weir.limits.KeptBuckets;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionRule;
import io.weir.topics.model.BatchHeader;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The boundaries between the code under test and the simulated world. By default every value passes
 * unchanged. A {@link Mutant} falsifies the values at one boundary.
 */
interface Edges {
  /** Called when a node sends a batch, with the time of the broker's clock. */
  default BatchHeader sent(BatchHeader header, long brokerEpochMillis) {
    return header;
  }

  /** Called when a process opens the journal on its disk. */
  default Journal journal(Journal disk) {
    return disk;
  }

  /** Called when a counter receives a record. */
  default SourceRecord taken(SourceRecord record) {
    return record;
  }

  /**
   * Called when a counter opens its stores.
   *
   * @param ids the store of ids, which knows the uncommitted keys
   */
  default Stores stores(Stores stores, TransactionalStore ids) {
    return stores;
  }

  /** Called when a transaction commits its outputs, in order. */
  default List<CounterOutput.Output> committed(List<CounterOutput.Output> outputs) {
    return outputs;
  }

  /** Returns whether readers receive the outputs of an aborted transaction. */
  default boolean readsAborted() {
    return false;
  }

  /** Returns whether an aborted transaction nevertheless commits its offset. */
  default boolean commitsOffsetAlone() {
    return false;
  }

  /** Called when the cache releases the slots of a holder. */
  default CheckDecider.Outcome release(Check check, long nowEpochMicros, KeptBuckets kept) {
    return CheckDecider.release(check, nowEpochMicros, kept);
  }

  /** Called when the cache decides a check. */
  default CheckDecider.Outcome decide(
      Check check, boolean peek, boolean warm, long nowEpochMicros, KeptBuckets kept) {
    return CheckDecider.decide(
        check, peek, warm, nowEpochMicros, found(check, nowEpochMicros, kept));
  }

  /** Called when the cache reads its buckets to decide a check. */
  default KeptBuckets found(Check check, long nowEpochMicros, KeptBuckets kept) {
    return kept;
  }

  /** Called when the cache applies a correction. */
  default CorrectionRule.Result correct(
      BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
    return CorrectionRule.apply(correction, kept, nowEpochMicros);
  }

  /** Called when a process receives a denial for its deny cache. */
  default Decision.Denied denied(Decision.Denied denied) {
    return denied;
  }

  /**
   * Called when a process stores a denial from a reply of the cache.
   *
   * @param later function that schedules a task after a short delay
   * @param note task that stores the denial
   */
  default void noteDenial(Consumer<Runnable> later, Runnable note) {
    note.run();
  }

  /** Returns the duration of a lease. */
  default long leaseMicros(long micros) {
    return micros;
  }

  /**
   * Returns the ticket by which a lease holds back the low watermark.
   *
   * @param other function that returns another ticket, of the current time
   */
  default Ticket leaseTicket(Ticket ticket, Supplier<Ticket> other) {
    return ticket;
  }

  /**
   * Returns whether a deny cache receives the key of a bucket when a correction has returned tokens
   * to this bucket.
   */
  default boolean hearsRaises() {
    return true;
  }

  /** Returns whether a cache that lost its state reports itself as restored too early. */
  default boolean isWarmAtOnce() {
    return false;
  }
}
