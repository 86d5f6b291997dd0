// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.util.List;

/**
 * The result of a check: whether the call may pass, and who decided it. Every case is immutable.
 */
public sealed interface Decision {
  /** Returns the call's id: the caller's own, or the id that the client created. */
  String id();

  /** Returns whether the call may pass. */
  boolean isAllowed();

  /**
   * Weir has allowed the call and recorded it.
   *
   * @param verdict the node's verdict
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
   * @param verdict the node's verdict
   * @param status the HTTP status of the verdict: 429, or 503 with the reason {@code
   *     policy-fails-closed}
   * @param reason the reason from the check API, such as {@code not-enough-tokens}
   * @param detail a sentence that explains the reason
   * @param violatedPolicies names of the enforced policies whose bucket had too few tokens for the
   *     cost
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
   * The API key of the call is unknown or has expired. Weir neither decided nor recorded the call.
   *
   * @param id the call's id
   * @param detail a sentence that explains the refusal
   */
  record KeyRefused(String id, String detail) implements Decision {
    @Override
    public boolean isAllowed() {
      return false;
    }
  }

  /**
   * No node decided the call in time, so the client decided it. If a response was lost, a node may
   * still have charged and recorded the call.
   *
   * @param id the call's id
   * @param isAllowed the client's decision: true with {@link FailureMode#OPEN}, unless the cause
   *     refuses the call in every mode
   * @param cause why no node decided the call
   * @param detail a sentence about the last failure
   */
  record Undecided(String id, boolean isAllowed, Cause cause, String detail) implements Decision {}

  /** Reason why no node decided a call. */
  enum Cause {
    /** No response came in time. */
    TIMEOUT(false),
    /** No node could be reached, or the connection ended before the response. */
    UNREACHABLE(false),
    /** A node was stopping, or reported an internal fault. */
    FAULT(false),
    /**
     * A node reported that it is overloaded, or this client has too many concurrent requests. The
     * call is refused in every mode, so that overload does not disable limits.
     */
    OVERLOADED(true),
    /**
     * A node decided the call but could not record it. The call is refused in every mode, since it
     * would not be billed.
     */
    NOT_RECORDED(true);

    private final boolean isRefusal;

    Cause(boolean isRefusal) {
      this.isRefusal = isRefusal;
    }

    /** Returns whether the cause refuses the call in every failure mode. */
    boolean isRefusal() {
      return isRefusal;
    }

    /** Returns whether a call with this cause may pass. */
    boolean passes(FailureMode mode) {
      return mode == FailureMode.OPEN && !isRefusal;
    }
  }
}
