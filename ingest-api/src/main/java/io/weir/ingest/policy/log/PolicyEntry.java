// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * How one change left one key. A change of several keys has one version and as many entries, which
 * take effect together. Immutable: the content must not be modified.
 *
 * @param key what was changed
 * @param change where the entry belongs
 * @param order the policies' order in answers, ascending; 0 for other kinds
 * @param content the policy as a policy file has it, or what else is set; null if it was deleted
 * @param untilThen of a policy that is not in force yet when it is changed: the policy that is,
 *     until then; null if there is none
 */
public record PolicyEntry(
    PolicyKey key,
    Change change,
    long order,
    @Nullable JsonNode content,
    @Nullable JsonNode untilThen) {

  /**
   * One change, as each of its entries tells of it.
   *
   * @param version the version of all policies since the change; at least 1
   * @param part the entry's number among those of the change in its topic, from 1
   * @param parts the number of entries of the change in that topic
   * @param policiesVersion the newest version, this one included, with entries in the topic of
   *     policies; 0 if there is none
   * @param clientsVersion the same of the topic of clients
   * @param atEpochMillis when, by the clock of who made it
   * @param by who, in their own words
   * @param id of the change, unique
   */
  public record Change(
      long version,
      int part,
      int parts,
      long policiesVersion,
      long clientsVersion,
      long atEpochMillis,
      String by,
      String id) {
    public Change {
      if (version < 1
          || part < 1
          || parts < part
          || Math.max(policiesVersion, clientsVersion) != version
          || Math.min(policiesVersion, clientsVersion) < 0) {
        throw new IllegalArgumentException(
            "version "
                + version
                + ", part "
                + part
                + " of "
                + parts
                + ", policies "
                + policiesVersion
                + ", clients "
                + clientsVersion);
      }
    }
  }

  /** Returns the version of all policies since the entry's change. */
  public long version() {
    return change.version();
  }

  /** Returns when the key was changed, by the clock of who changed it. */
  public long changedAtEpochMillis() {
    return change.atEpochMillis();
  }

  /** Returns who changed the key. */
  public String changedBy() {
    return change.by();
  }

  /** Returns the content that is in force at a time; null if none is. */
  public @Nullable JsonNode contentAt(long epochMillis) {
    return content != null && PolicyState.effectiveFromMillis(content) > epochMillis
        ? untilThen
        : content;
  }

  /** Returns whether the change deleted the key. */
  public boolean isDeleted() {
    return content == null;
  }
}
