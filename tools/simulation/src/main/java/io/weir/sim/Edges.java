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
 * The points where the code under test meets the simulated world. By default every value passes
 * unchanged; a {@link Mutant} falsifies one of them.
 */
interface Edges {
  /** A node hands over a batch, at a time of the broker's clock. */
  default BatchHeader sent(BatchHeader header, long brokerEpochMillis) {
    return header;
  }

  /** A process opens the journal on its disk. */
  default Journal journal(Journal disk) {
    return disk;
  }

  /** A counter takes a record. */
  default SourceRecord taken(SourceRecord record) {
    return record;
  }

  /**
   * A counter opens its stores.
   *
   * @param ids the store of ids, which knows what is not committed yet
   */
  default Stores stores(Stores stores, TransactionalStore ids) {
    return stores;
  }

  /** A transaction commits its outputs, in order. */
  default List<CounterOutput.Output> committed(List<CounterOutput.Output> outputs) {
    return outputs;
  }

  /** Returns whether readers see the outputs of an aborted transaction. */
  default boolean readsAborted() {
    return false;
  }

  /** Returns whether the offset is committed although the rest of the transaction is not. */
  default boolean commitsOffsetAlone() {
    return false;
  }

  /** The cache releases the slots that a holder has. */
  default CheckDecider.Outcome release(Check check, long nowEpochMicros, KeptBuckets kept) {
    return CheckDecider.release(check, nowEpochMicros, kept);
  }

  /** The cache decides a check. */
  default CheckDecider.Outcome decide(
      Check check, boolean peek, boolean warm, long nowEpochMicros, KeptBuckets kept) {
    return CheckDecider.decide(
        check, peek, warm, nowEpochMicros, found(check, nowEpochMicros, kept));
  }

  /** The cache finds what it keeps, for a check that it decides. */
  default KeptBuckets found(Check check, long nowEpochMicros, KeptBuckets kept) {
    return kept;
  }

  /** The cache applies a correction. */
  default CorrectionRule.Result correct(
      BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
    return CorrectionRule.apply(correction, kept, nowEpochMicros);
  }

  /** A process learns of a denial, which its deny cache repeats. */
  default Decision.Denied denied(Decision.Denied denied) {
    return denied;
  }

  /**
   * A process notes what a reply of the cache says of a denial.
   *
   * @param later schedules for a moment later
   * @param note notes it
   */
  default void noteDenial(Consumer<Runnable> later, Runnable note) {
    note.run();
  }

  /** A node may take tokens in advance, for a length of time. */
  default long leaseMicros(long micros) {
    return micros;
  }

  /**
   * A lease holds the low watermark back by a ticket.
   *
   * @param other returns a ticket of the present time
   */
  default Ticket leaseTicket(Ticket ticket, Supplier<Ticket> other) {
    return ticket;
  }

  /** Returns whether deny caches hear of buckets that a correction has given tokens. */
  default boolean hearsRaises() {
    return true;
  }

  /** Returns whether a cache that lost its state counts as warm before it is restored. */
  default boolean isWarmAtOnce() {
    return false;
  }
}
