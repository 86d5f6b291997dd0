// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.io.IOException;
import java.nio.file.Path;

/**
 * What one verification has read so far: the differences found, and the intermediate data, which
 * are on disk. Not thread-safe.
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

  /**
   * Creates empty data.
   *
   * @param parent folder in which to create the folder for the data
   */
  VerifyData(Range range, boolean mayRepeat, Path parent) throws IOException {
    this.range = range;
    this.mayRepeat = mayRepeat;
    this.scratch = Scratch.create(parent);
    this.accounts = new Accounts(scratch);
    this.adjustments = new Adjustments(scratch);
    this.closes = new Closes(scratch, differences);
    this.quarantine = new QuarantineRecords(scratch, mayRepeat, differences);
    this.replays = new Replays(scratch, differences);
    this.state = new StateFigures(range, accounts, differences);
    this.ledger = new LedgerRows(this);
  }

  @Override
  public void close() throws IOException {
    scratch.close();
  }
}
