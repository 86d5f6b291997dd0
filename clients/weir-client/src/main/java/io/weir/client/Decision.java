// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.util.List;

/** Whether a call may pass, and who has said so. Every case is immutable. */
public sealed interface Decision {
  /** Returns the call's id: the caller's own, or the one that the client has made. */
  String id();

  /** Returns whether the call may pass. */
  boolean isAllowed();

  /**
   * Weir has allowed the call and recorded it.
   *
   * @param verdict what the node says of it
   */
  record Allowed(Verdict verdict) implements Decision {
    @Override
    public String id() {
      return verdict.id();
    }

    @Override
    public boolean isAllowed() {
      return true;
    }
  }

  /**
   * Weir has denied the call.
   *
   * @param verdict what the node says of it
   * @param status the HTTP status of the verdict: 429, or 503 with the reason {@code
   *     policy-fails-closed}
   * @param reason why, as a word of the check API, such as {@code not-enough-tokens}
   * @param detail why, in a sentence
   * @param violatedPolicies names of the enforced policies whose bucket did not hold the cost
   */
  record Denied(
      Verdict verdict, int status, String reason, String detail, List<String> violatedPolicies)
      implements Decision {
    public Denied {
      violatedPolicies = List.copyOf(violatedPolicies);
    }

    @Override
    public String id() {
      return verdict.id();
    }

    @Override
    public boolean isAllowed() {
      return false;
    }
  }

  /**
   * No client has the API key of the call, or the key has expired. Nothing was decided or recorded.
   *
   * @param id the call's id
   * @param detail why, in a sentence
   */
  record KeyRefused(String id, String detail) implements Decision {
    @Override
    public boolean isAllowed() {
      return false;
    }
  }

  /**
   * No node has decided the call in time, so the client has. The call may have been charged and
   * recorded all the same, if an answer was lost.
   *
   * @param id the call's id
   * @param isAllowed what the client has decided: with {@link FailureMode#OPEN} true, unless the
   *     cause is one that refuses the call in every mode
   * @param cause why no node has decided
   * @param detail what happened last, in a sentence
   */
  record Undecided(String id, boolean isAllowed, Cause cause, String detail) implements Decision {}

  /** Why no node has decided a call. */
  enum Cause {
    /** No answer came in time. */
    TIMEOUT(false),
    /** No node could be reached, or the connection has ended before the answer. */
    UNREACHABLE(false),
    /** A node was stopping, or answered that it cannot decide because of a fault of its own. */
    FAULT(false),
    /**
     * A node has answered that it is overloaded, or this client has too many calls under way. The
     * call is refused in every mode, so that overload does not switch limits off.
     */
    OVERLOADED(true),
    /**
     * A node has decided the call and could not record it. The call is refused in every mode, since
     * it would not be billed.
     */
    NOT_RECORDED(true);

    private final boolean isRefusal;

    Cause(boolean isRefusal) {
      this.isRefusal = isRefusal;
    }

    /** Returns whether the call was turned away, and not just left without an answer. */
    boolean isRefusal() {
      return isRefusal;
    }

    /** Returns whether a call may pass for this cause. */
    boolean passes(FailureMode mode) {
      return mode == FailureMode.OPEN && !isRefusal;
    }
  }
}
