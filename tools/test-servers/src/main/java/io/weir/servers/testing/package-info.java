// SPDX-License-Identifier: Apache-2.0
/**
 * Servers for tests, which are either local processes or containers. The system property {@code
 * weir.test.servers} selects which: {@code process} (default) or {@code containers}.
 */
@NullMarked
package io.weir.servers.testing;

import org.jspecify.annotations.NullMarked;
