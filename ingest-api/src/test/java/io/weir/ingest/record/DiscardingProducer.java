// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A producer that acknowledges everything at once and keeps nothing. */
final class DiscardingProducer implements BatchProducer {
  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
    done.accept(null);
  }

  @Override
  public void close() {
    // there is nothing to give up
  }
}
