<?php
// Symfony's Lock component on several servers, as its documentation shows it: a CombinedStore of
// RedisStores with the ConsensusStrategy.
ini_set('display_errors', 'stderr');
require_once 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\CombinedStore;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\Lock\Strategy\ConsensusStrategy;

$version = trim(shell_exec("dpkg-query -W -f '\${Version}' php-symfony-lock 2>/dev/null") ?: 'as installed');
$factory = $lock = null;
while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line);
    $answer = ['id' => $request->id];
    try {
        switch ($request->do) {
            case 'hello':
                $answer += ['name' => 'symfony/lock', 'version' => $version, 'servers' => 'many', 'can' => ['extend']];
                break;
            case 'open':
                $stores = [];
                foreach ($request->servers as $server) {
                    [$host, $port] = explode(':', $server);
                    $redis = new Redis();
                    $redis->connect($host, (int) $port);
                    $stores[] = new RedisStore($redis, $request->ttl / 1000);
                }
                $factory = new LockFactory(new CombinedStore($stores, new ConsensusStrategy()));
                break;
            case 'acquire':
                // Without autorelease, a process that ends with the lock leaves it, as one that is killed does.
                $lock = $factory->createLock($request->key, $request->ttl / 1000, false);
                $answer['held'] = $lock->acquire();
                // It says false only if the lock is held by another one; see LockInterface.
                $answer += $answer['held'] ? ['left' => 1000 * $lock->getRemainingLifetime()] : ['why' => 'taken'];
                break;
            case 'check':
                $answer['held'] = $lock->isAcquired();
                break;
            case 'extend':
                $lock->refresh($request->ttl / 1000);
                $answer['held'] = true;
                break;
            case 'release':
                $lock->release();
                $answer['done'] = true;
                break;
            default:
                $answer['error'] = "there is no request \"$request->do\"";
        }
    } catch (LockConflictedException) {
        $answer['held'] = false;
        $answer['why'] = 'taken';
    } catch (Throwable $e) { // the lock client's errors aren't the driver's
        fwrite(STDERR, $e . "\n");
        $answer['why'] = $e->getMessage() ?: get_class($e);
    }
    echo json_encode($answer), "\n";
}
