// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The result of one change for one key. A change of several keys has one version and one entry for
 * each key; all take effect together. Immutable. Contents are kept as JSON text, because a node
 * holds an entry for each client that has settings.
 */
public final class PolicyEntry {
  private final PolicyKey key;
  private final Change change;
  private final long order;
  private final byte @Nullable [] content;
  private final byte @Nullable [] untilThen;

  /**
   * Creates an entry.
   *
   * @param key the changed key
   * @param change the change that made the entry
   * @param order position of the policy in answers, ascending; 0 for other kinds
   * @param content the policy as in a policy file, or the settings; null if the key was deleted
   * @param untilThen for a policy that comes into force after its change: the policy in force until
   *     then; null if there is none
   */
  public PolicyEntry(
      PolicyKey key,
      Change change,
      long order,
      @Nullable JsonNode content,
      @Nullable JsonNode untilThen) {
    this(key, change, order, text(content), text(untilThen));
  }

  private PolicyEntry(
      PolicyKey key,
      Change change,
      long order,
      byte @Nullable [] content,
      byte @Nullable [] untilThen) {
    this.key = key;
    this.change = change;
    this.order = order;
    this.content = content;
    this.untilThen = untilThen;
  }

  /** Returns an entry with contents as JSON text, which must not be modified. */
  static PolicyEntry ofTexts(
      PolicyKey key,
      Change change,
      long order,
      byte @Nullable [] content,
      byte @Nullable [] untilThen) {
    return new PolicyEntry(key, change, order, content, untilThen);
  }

  private static byte @Nullable [] text(@Nullable JsonNode tree) {
    return tree == null ? null : PolicyEntryCodec.bytes(tree);
  }

  private static @Nullable JsonNode tree(byte @Nullable [] text) {
    return text == null ? null : PolicyEntryCodec.tree(text);
  }

  /**
   * One change. Its entries in one topic share this object.
   *
   * @param version the version of all policies after the change; at least 1
   * @param parts the number of entries of the change in the entry's topic
   * @param policiesVersion the newest version with entries in the topic of policies, including this
   *     one; 0 if there is none
   * @param clientsVersion the same for the topic of clients
   * @param atEpochMillis time of the change, by the clock of its author's machine
   * @param by the author, in free text
   * @param id a unique id of the change
   */
  public record Change(
      long version,
      int parts,
      long policiesVersion,
      long clientsVersion,
      long atEpochMillis,
      String by,
      String id) {
    public Change {
      if (version < 1
          || parts < 1
          || Math.max(policiesVersion, clientsVersion) != version
          || Math.min(policiesVersion, clientsVersion) < 0) {
        throw new IllegalArgumentException(
            "version "
                + version
                + ", parts "
                + parts
                + ", policies "
                + policiesVersion
                + ", clients "
                + clientsVersion);
      }
    }
  }

  /** Returns the changed key. */
  public PolicyKey key() {
    return key;
  }

  /** Returns the change that made the entry. */
  public Change change() {
    return change;
  }

  /** Returns the position of the policy in answers, ascending; 0 for other kinds. */
  public long order() {
    return order;
  }

  /** Returns the content, which the caller may modify; null if the change deleted the key. */
  public @Nullable JsonNode content() {
    return tree(content);
  }

  /** Returns the content in force until the new one is; null if there is none. */
  public @Nullable JsonNode untilThen() {
    return tree(untilThen);
  }

  /** Returns the content as JSON text, which must not be modified; null if the key was deleted. */
  byte @Nullable [] contentText() {
    return content;
  }

  /** Returns the content until the new one is in force as JSON text; null if there is none. */
  byte @Nullable [] untilThenText() {
    return untilThen;
  }

  /**
   * Returns whether the content is equal to that of a JSON text; the order of members does not
   * matter.
   */
  boolean hasContent(byte[] text) {
    // members in another order give a text of the same length
    return content != null
        && content.length == text.length
        && (Arrays.equals(content, text)
            || PolicyEntryCodec.tree(content).equals(PolicyEntryCodec.tree(text)));
  }

  /** Returns an equal entry that shares the text of its content with others. */
  PolicyEntry sharing(byte[] text) {
    return new PolicyEntry(key, change, order, text, untilThen);
  }

  /** Returns an equal entry that shares an equal change with others. */
  PolicyEntry ofChange(Change shared) {
    return new PolicyEntry(key, shared, order, content, untilThen);
  }

  /** Returns the version of all policies after the entry's change. */
  public long version() {
    return change.version();
  }

  /** Returns when the key was changed, by the clock of the author's machine. */
  public long changedAtEpochMillis() {
    return change.atEpochMillis();
  }

  /** Returns the author of the change. */
  public String changedBy() {
    return change.by();
  }

  /** Returns the content in force at the given time; null if there is none. */
  public @Nullable JsonNode contentAt(long epochMillis) {
    JsonNode present = content();
    return present != null && PolicyLogState.effectiveFromMillis(present) > epochMillis
        ? untilThen()
        : present;
  }

  /** Returns whether the change deleted the key. */
  public boolean isDeleted() {
    return content == null;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof PolicyEntry entry
        && key.equals(entry.key)
        && change.equals(entry.change)
        && order == entry.order
        && Arrays.equals(content, entry.content)
        && Arrays.equals(untilThen, entry.untilThen);
  }

  @Override
  public int hashCode() {
    return Objects.hash(key, change, order, Arrays.hashCode(content), Arrays.hashCode(untilThen));
  }

  @Override
  public String toString() {
    return key + " with version " + version() + ": " + content();
  }
}
