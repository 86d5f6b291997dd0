// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.policies;

import io.weir.ingest.policy.log.PolicyEditor.Change;
import io.weir.ingest.policy.log.PolicyEditor.Draft;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyLogState;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A change of the whole policy set. The change is refused if it would remove an entry without the
 * user's confirmation. The user confirms the list of removals that the command has shown. If this
 * list becomes longer before publication, the change is refused again. Not thread-safe.
 */
final class ConfirmedChange implements Change {
  private final Change change;
  private final boolean mayRemoveAll;
  private Set<String> confirmed = Set.of();
  private List<String> removed = List.of();
  private PolicyLogState reviewedState = PolicyLogState.EMPTY;
  private List<Draft> reviewed = List.of();

  /**
   * Creates a change without confirmed removals.
   *
   * @param mayRemoveAll whether removals need no confirmation
   */
  ConfirmedChange(Change change, boolean mayRemoveAll) {
    this.change = change;
    this.mayRemoveAll = mayRemoveAll;
  }

  @Override
  public List<Draft> on(PolicyLogState state) throws RefusedException {
    return change.on(state);
  }

  @Override
  public boolean isWhole() {
    return change.isWhole();
  }

  @Override
  public void review(PolicyLogState state, List<Draft> drafts) throws RefusedException {
    removed =
        drafts.stream()
            .filter(draft -> draft.content() == null)
            .map(draft -> draft.key().toString())
            .toList();
    reviewedState = state;
    reviewed = drafts;
    if (!isConfirmed()) {
      throw new RefusedException(Reason.INVALID, "the change removes " + removed());
    }
  }

  /** Returns whether the user has confirmed everything that the change would remove. */
  boolean isConfirmed() {
    return mayRemoveAll || confirmed.containsAll(removed);
  }

  /** Confirms the removals of the last review. */
  void confirm() {
    confirmed = new HashSet<>(removed);
  }

  /** Returns the differences of the last review. */
  List<String> differences() {
    return PolicyDifferences.of(reviewedState, reviewed);
  }

  /** Returns a description of what the change would remove. */
  String removed() {
    return removed.size() == 1
        ? removed.get(0)
        : removed.get(0) + " and " + (removed.size() - 1) + " more";
  }
}
