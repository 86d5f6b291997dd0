// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.kafka;

import javax.security.auth.login.LoginException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.jspecify.annotations.Nullable;

/**
 * Distinguishes an authorization or authentication failure from other failures of Kafka, and
 * describes what the client lacks. Stateless and thread-safe.
 */
public final class KafkaRefusal {
  private static final String SEE = " (docs/operate/install.md, access to Kafka)";

  private KafkaRefusal() {}

  /**
   * Returns whether Kafka rejects the client. A retry cannot succeed until an operator changes its
   * credentials or permissions.
   */
  public static boolean is(Throwable failure) {
    return find(failure) != null;
  }

  private static @Nullable Throwable find(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof AuthorizationException || cause instanceof AuthenticationException) {
        return cause;
      }
    }
    return null;
  }

  /**
   * Returns a description of what a client lacks.
   *
   * @param operation the operation on a topic, by its name in access control lists, such as {@code
   *     Write}
   * @param otherwise the result for another failure
   */
  public static String explain(Throwable failure, String operation, @Nullable String otherwise) {
    Throwable refusal = find(failure);
    if (refusal == null) {
      String login = login(failure);
      return login == null ? String.valueOf(otherwise) : login;
    }
    String said = String.valueOf(refusal.getMessage());
    if (refusal instanceof AuthenticationException) {
      return "Kafka does not accept the credentials: " + said + SEE;
    }
    return "Kafka refuses: the principal lacks " + lacking(refusal, operation) + ": " + said + SEE;
  }

  /**
   * Returns why a client could not get credentials, for instance from an issuer of tokens; null if
   * this is not the failure.
   */
  private static @Nullable String login(Throwable failure) {
    boolean isOfLogin = false;
    String said = "";
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      isOfLogin |= cause instanceof LoginException;
      if (cause.getMessage() != null) {
        said = cause.getMessage();
      }
    }
    // the message of each cause contains those of the causes below it; the last message is the
    // original one
    return isOfLogin
        ? "the client could not get credentials for Kafka: "
            + said.replaceFirst("^(\\S+: )+", "")
            + SEE
        : null;
  }

  private static String lacking(Throwable refusal, String operation) {
    if (refusal instanceof TopicAuthorizationException ofTopics) {
      return operation
          + (ofTopics.unauthorizedTopics().isEmpty()
              ? " on a topic"
              : " on the topic " + String.join(", ", ofTopics.unauthorizedTopics()));
    }
    if (refusal instanceof GroupAuthorizationException ofGroup) {
      return "Read on the group " + (ofGroup.groupId() == null ? "" : ofGroup.groupId());
    }
    return refusal instanceof TransactionalIdAuthorizationException
        ? "Write on the transactional id"
        : operation + " on the cluster";
  }
}
