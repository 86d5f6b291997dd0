// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Marks a test class or method that {@code ./weir test} skips and {@code ./weir test --all} runs.
 * Such a test takes too long for a run for which a person waits. A test that always runs must check
 * the same behaviour to a lesser extent.
 *
 * <p>A skipped test is reported with the reason given here.
 *
 * @see SuiteForm
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(FullSuiteCondition.class)
public @interface FullSuite {
  /** Returns the reason why the short run skips the test, and the test that replaces it. */
  String reason();
}
