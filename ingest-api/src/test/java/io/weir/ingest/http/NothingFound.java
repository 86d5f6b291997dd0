// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.settle.CallFinder;
import io.weir.ingest.settle.SettleOutcome.NotFound;

/** Finds no call, after it has looked at all of one partition. */
final class NothingFound implements CallFinder {
  @Override
  public Finding find(CallQuery query) {
    return new NotFound(0, 1);
  }

  @Override
  public void close() {}
}
