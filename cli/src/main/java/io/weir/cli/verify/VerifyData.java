// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.io.IOException;
import java.nio.file.Path;

/**
 * The data of one verification so far: the differences found, and the intermediate data on disk.
 * Not thread-safe.
 */
final class VerifyData implements AutoCloseable {
  final Range range;

  /** Whether ledger rows and quarantined records may occur twice, as after a reset. */
  final boolean mayRepeat;

  final Differences differences = new Differences();
  final Scratch scratch;
  final Accounts accounts;
  final Adjustments adjustments;
  final Closes closes;
  final QuarantineRecords quarantine;
  final Replays replays;
  final LedgerRows ledger;
  final StateFigures state;

  /** Creates empty data in a new folder of the parent folder. */
  VerifyData(Range range, boolean mayRepeat, Path parent) throws IOException {
    this.range = range;
    this.mayRepeat = mayRepeat;
    this.scratch = Scratch.create(parent);
    this.accounts = new Accounts(scratch);
    this.adjustments = new Adjustments(scratch);
    this.closes = new Closes(this);
    this.quarantine = new QuarantineRecords(this);
    this.replays = new Replays(this);
    this.state = new StateFigures(this);
    this.ledger = new LedgerRows(this);
  }

  @Override
  public void close() throws IOException {
    scratch.close();
  }
}
